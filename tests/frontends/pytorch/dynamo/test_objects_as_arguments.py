"""Objects that hold tensors, as arguments and results: dataclasses, named tuples, plain ones, model outputs."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import NamedTuple

import pytest
import torch

from frontends.pytorch import compile


@dataclasses.dataclass
class Pair:
    x: torch.Tensor
    y: torch.Tensor
    scale: float = 2.0
    count: int = 3


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    number: int = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Narrow:
    x: torch.Tensor
    y: torch.Tensor | None = None


@dataclasses.dataclass
class Nested:
    pair: Pair
    others: list
    table: dict
    narrow: Narrow


class Plain:
    def __init__(self, x, number=3):
        self.x = x
        self.number = number
        self.parts = [x * 2, {"a": x + 1}]

    def __call__(self, y):
        return self.x * y


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


def pair(n, **others):
    return Pair(random(n, 3), random(n + 1, 3), **others)


def random(*sizes):
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randn(sizes, generator=generator)


def nested(n):
    return Nested(pair(n), [Frozen(random(n, 2)), random(n)], {"a": Plain(random(n, 4))}, Narrow(random(2, n)))


PROGRAMS = {
    "dataclass": (lambda p: p.x.sum(0) * p.y.sum(0) * p.scale + p.count, pair),
    "made": (lambda p: Pair(p.x * 2, p.y + 1, p.scale, p.count), pair),
    "frozen": (lambda p: Frozen(p.x * p.number, p.number + 1), lambda n: Frozen(random(n, 2))),
    "nested": (
        lambda p: Nested(p.pair, [p.others[0].x * 2], {"b": p.table["a"].parts[1]["a"].sum()}, Narrow(p.narrow.x)),
        nested,
    ),
    "plain": (lambda p: p(p.parts[0]) + p.parts[1]["a"] * p.number, lambda n: Plain(random(n, 3))),
    "named tuple": (lambda p: Point(p.y * 2, p.x), lambda n: Point(random(n), random(n))),
    "in containers": (lambda p: p["a"][0].x * 2, lambda n: OrderedDict(a=[Frozen(random(n))])),
    "as dictionary": (lambda p: vars(p)["x"] * 2, pair),
}


def flat(value):
    """What is in a result, with the classes of what holds it."""
    if isinstance(value, torch.Tensor | int | float | str | None):
        return [value]
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        slots = [getattr(value, name) for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ())]
        parts = [*vars(value).values()] if hasattr(value, "__dict__") else slots
    return [type(value), *[each for part in parts for each in flat(part)]]


def assert_same(found, expected):
    one, other = flat(found), flat(expected)
    assert len(one) == len(other)
    for a, b in zip(one, other):
        assert type(a) is type(b)
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(a, b)
            assert a.requires_grad == b.requires_grad
        else:
            assert a == b


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(("program", "made"), PROGRAMS.values(), ids=PROGRAMS)
def test_captured(program, made, backend):
    """Such an object makes calls fall back to eager, or a result is of another class or has other attributes."""
    compiled = compile(program, backend=backend, fullgraph=True)
    for n in (3, 5, 2, 7):
        given = made(n)
        before = flat(given)
        assert_same(compiled(given), program(given))
        assert all(one is other for one, other in zip(flat(given), before, strict=True))
    assert len(compiled.variants) <= 2 and not compiled.fallbacks


def test_numbers_that_vary():
    """A number in an object makes a variant for each of its values."""
    compiled = compile(lambda p: p.x * p.scale + p.count, backend="cpu")
    for step in range(8):
        given = pair(3, scale=0.5 * step, count=step)
        assert_same(compiled(given), given.x * given.scale + given.count)
    assert len(compiled.variants) == 2


def test_model_outputs():
    """Transformers' outputs are not seen through, or come back as another class."""
    outputs = pytest.importorskip("transformers.modeling_outputs")

    def program(given):
        return outputs.BaseModelOutput(last_hidden_state=given.last_hidden_state * 2, attentions=(given[0],))

    compiled = compile(program, fullgraph=True)
    for n in (3, 5, 4):
        given = outputs.BaseModelOutput(last_hidden_state=random(n, 2))
        found, expected = compiled(given), program(given)
        assert type(found) is type(expected) and list(found) == list(expected)
        assert_same(found.to_tuple(), expected.to_tuple())
    assert len(compiled.variants) == 2
