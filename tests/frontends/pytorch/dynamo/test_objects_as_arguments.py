"""Objects that hold tensors, as arguments and results: dataclasses, named tuples, plain ones, model outputs."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

from frontends.pytorch import compile

FACTOR = 2.0


class Mode(enum.Enum):
    TRAIN = 1
    TEST = 2


@dataclasses.dataclass
class Pair:
    x: torch.Tensor
    y: torch.Tensor
    scale: float = 2.0
    count: int = 3
    mode: Mode = Mode.TRAIN
    name: str = "pair"

    factor = 1.5

    @property
    def total(self):
        return self.x.sum() + self.y.sum()

    def scaled(self):
        return self.x * self.scale * self.factor


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


@dataclasses.dataclass
class Child(Pair):
    z: torch.Tensor | None = None


@dataclasses.dataclass(eq=False)
class ByIdentity:
    x: torch.Tensor


class Plain:
    def __init__(self, x, number=3):
        self.x = x
        self.number = number
        self.parts = [x * 2, {"a": x + 1}]

    def __call__(self, y):
        return self.x * y


class Slotted:
    __slots__ = ("__dict__", "x")

    def __init__(self, x):
        self.x = x
        self.extra = x + 1


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


def pair(n, kind=Pair, **others):
    return kind(random(n, 3), random(n + 1, 3), **others)


def random(*sizes):
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randn(sizes, generator=generator)


def nested(n):
    return Nested(pair(n), [Frozen(random(n, 2)), random(n)], {"a": Plain(random(n, 4))}, Narrow(random(2, n)))


PROGRAMS = {
    "dataclass": (lambda p: p.x.sum(0) * p.y.sum(0) * p.scale + p.count, pair),
    "method and property": (lambda p: p.scaled() + p.total, pair),
    "mode": (lambda p: p.x * 2 if p.mode is Mode.TRAIN else p.y, pair),
    "made": (lambda p: Pair(p.x * 2, p.y + 1, p.scale, p.count), pair),
    "replaced": (lambda p: dataclasses.replace(p, x=p.x * p.count), pair),
    "frozen": (lambda p: Frozen(p.x * p.number, p.number + 1), lambda n: Frozen(random(n, 2))),
    "slots": (lambda p: Narrow(p.x * 2, p.y), lambda n: Narrow(random(n, 2))),
    "nested": (
        lambda p: Nested(p.pair, [p.others[0].x * 2], {"b": p.table["a"].parts[1]["a"].sum()}, Narrow(p.narrow.x)),
        nested,
    ),
    "inherited": (lambda p: p.scaled() + (0 if p.z is None else p.z), lambda n: pair(n, Child, z=random(n, 3))),
    "plain": (lambda p: p(p.parts[0]) + p.parts[1]["a"] * p.number, lambda n: Plain(random(n, 3))),
    "plain made": (lambda p: Plain(p.x * 2), lambda n: Plain(random(n, 3))),
    "slotted": (lambda p: p.x + p.extra, lambda n: Slotted(random(n))),
    "namespace": (lambda p: p.x * p.number, lambda n: SimpleNamespace(x=random(n), number=4)),
    "named tuple": (lambda p: Point(p.y * 2, p.x), lambda n: Point(random(n), random(n))),
    "in containers": (lambda p: p["a"][0].x * 2, lambda n: OrderedDict(a=[Frozen(random(n))])),
    "fields": (lambda p: next(getattr(p, f.name) for f in dataclasses.fields(p)) * 2, pair),
    "as dictionary": (lambda p: vars(p)["x"] * 2, pair),
    "text": (lambda p: p.x * len(p.name) + len(type(p).__name__), pair),
}


def flat(value):
    """What is in a result, with the classes of what holds it."""
    if isinstance(value, torch.Tensor | int | float | str | enum.Enum | None):
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


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_gradients(backend):
    """What is in an object has no gradient."""

    def program(p, y):
        return Frozen((p.x * y).relu() * p.number)

    compiled = compile(program, backend=backend, fullgraph=True)
    for n in (3, 5, 2):
        gradients = []
        for call in (compiled, program):
            x, y = random(n, 2).requires_grad_(), random(n, 1).requires_grad_()
            call(Frozen(x, 3), y).x.sum().backward()
            gradients.append((x.grad, y.grad))
        assert_same(*gradients)


def test_the_object_itself():
    """The traced function has another object than the caller's, by which nothing knows it."""
    known = {}

    def program(p, y):
        return p, known.get(id(p), 0) + y, known[p] * y, [p.x * 2]

    compiled = compile(program)
    for n in (3, 5, 4):
        given = ByIdentity(random(n))
        known.clear()
        known.update({id(given): 3, given: 7})
        found = compiled(given, torch.ones(2))
        assert found[0] is given and type(given.x) is torch.Tensor
        assert_same(found[1:], program(given, torch.ones(2))[1:])


def test_an_object_that_is_changed():
    """A change of the object is lost, or done to another one."""

    def program(p, y):
        p.x = p.x * 2
        p.count += 1
        p.more = y
        return p.x + y

    compiled = compile(program)
    for n in (3, 5, 3):
        ours, theirs = pair(n), pair(n)
        assert_same(compiled(ours, torch.ones(3)), program(theirs, torch.ones(3)))
        assert_same(ours, theirs)


def test_a_tensor_in_it_is_written():
    """A change in place of a tensor in an object is lost."""

    def program(p):
        p.x.mul_(2)
        p.y[0] = 5
        return p.x.sum() + p.y

    for backend in ("eager", "cpu"):
        compiled = compile(program, backend=backend)
        for n in (3, 5, 3):
            ours, theirs = pair(n), pair(n)
            assert_same(compiled(ours), program(theirs))
            assert_same(ours, theirs)


def test_what_else_it_holds():
    """A variant is used for an object with other attributes, another class, or whose class has changed."""

    def program(p):
        return p.x * p.factor + (p.more if hasattr(p, "more") else 0) + (1 if type(p) is Child else 2)

    compiled = compile(program)
    first = pair(3)
    assert_same(compiled(first), program(first))
    for given in (pair(3, Child), pair(3, mode=Mode.TEST), pair(3, name="other")):
        assert_same(compiled(given), program(given))
    given = pair(3)
    given.more = torch.ones(3)
    assert_same(compiled(given), program(given))
    given.factor = 7.0
    assert_same(compiled(given), program(given))
    Pair.factor = 2.5
    try:
        assert_same(compiled(first), program(first))
    finally:
        Pair.factor = 1.5


def test_given_twice_or_in_a_circle():
    """The same object given twice is taken for two."""

    def program(a, b):
        return (a.x * 2 if a is b else a.x * 3) + b.x

    compiled = compile(program)
    one, other = Frozen(torch.ones(3)), Frozen(torch.full((3,), 2.0))
    for given in ((one, other), (one, one), (other, one), (other, other)):
        assert_same(compiled(*given), program(*given))
    circle = Plain(torch.ones(2))
    circle.itself = circle
    compiled = compile(lambda p: p.itself.x * 2)
    assert_same(compiled(circle), torch.full((2,), 2.0))


def test_an_error_leaves_the_object():
    """An object has tensors of the trace after a trace that failed."""

    def program(p):
        raise ValueError(str(p.x.shape[0]))

    given = pair(3)
    before = flat(given)
    with pytest.raises(ValueError, match="3"):
        compile(program)(given)
    assert all(one is other for one, other in zip(flat(given), before, strict=True))


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
