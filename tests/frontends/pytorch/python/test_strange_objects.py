"""Objects that make their attributes themselves, that hold themselves, or whose hooks are their own methods."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy
import pytest
import torch
from torch import nn

from frontends.pytorch import compile
from tests.effort import processor_seconds


class ByKey(dict):
    def __getattr__(self, name: str) -> object:
        return self[name]


class Anything:
    def __init__(self, factor: object) -> None:
        self.factor = factor

    def __getattr__(self, name: str) -> object:
        return 5 if name[:2] == "__" else self

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Wrong(Anything):
    def __getattr__(self, name: str) -> object:
        raise LookupError(name)


class KeyCall(ByKey):
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


@dataclass(slots=True)
class Narrow:
    factor: object


def holding(factor: object) -> list[object]:
    made: list[object] = [factor]
    made.append(made)
    return made


def holding_by_name(factor: object) -> dict[str, object]:
    made: dict[str, object] = {"factor": factor}
    made["itself"] = made
    return made


OBJECTS: Final = {
    "dict with attributes": lambda factor: ByKey(factor=factor),
    "any attribute": Anything,
    "another error": Wrong,
    "dataclass with slots": Narrow,
}


def same(function: Callable[..., object], *given: Callable[[], object]) -> None:
    compiled = compile(function)
    for size in (3, 3, 5, 1):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x, *[each() for each in given]), function(x, *[each() for each in given]))


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS.keys())
def test_objects_with_attributes_of_their_own_making(make: Callable[[object], object]) -> None:
    """If it fails, what we ask such an object about itself raises, or never ends."""
    known = make(3.0)
    same(lambda x: x * known.factor)
    same(lambda x, given: x * given.factor, lambda: make(3.0))
    same(lambda x, given: x * given.factor, lambda: make(torch.tensor(3.0)))
    same(lambda x: x * make(3.0).factor)


@pytest.mark.parametrize("make", [lambda: Anything(3.0), lambda: Wrong(3.0), lambda: KeyCall(factor=3.0)])
def test_such_objects_compiled(make: Callable[[], Callable[..., object]]) -> None:
    """If it fails, `compile` asks a callable object for an attribute that it has no answer to."""
    same(make())
    compiled = compile(make())
    compiled(torch.ones(3))
    assert compiled._compilation.variants


@processor_seconds(100)
def test_what_holds_itself() -> None:
    """If it fails, a call with a list that holds itself never ends, or raises."""
    listed, named = holding(2.0), holding_by_name(3.0)
    same(lambda x: x * listed[0] * named["factor"] * listed[1][0])
    same(lambda x, given: x * given[0], lambda: holding(torch.tensor(2.0)))
    same(lambda x, given: x * given["factor"], lambda: holding_by_name(torch.tensor(2.0)))
    same(lambda x, given=listed: x * given[0])
    compiled = compile(lambda x: holding(x * 2))
    for size in (3, 3, 5):
        result = compiled(torch.ones(size))
        assert result[1] is result and result[0].tolist() == [2.0] * size


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LazyLinear(3),
        lambda: nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2)),
        lambda: nn.Sequential(nn.Unflatten(1, (1, -1)), nn.LazyConv1d(2, 1)),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
@processor_seconds(100)
def test_lazy_modules(make: Callable[[], nn.Module], inside: bool) -> None:
    """If it fails, a module whose sizes its first call finds hangs a trace: its hook is a method of its own."""
    torch.manual_seed(0)
    module = make()
    torch.manual_seed(0)
    layer = make()
    compiled = compile((lambda x: layer(x)) if inside else layer)
    for size in (4, 4, 6, 9):
        x = torch.randn(size, 5)
        torch.manual_seed(1)
        expected = module(x)
        torch.manual_seed(1)
        torch.testing.assert_close(compiled(x), expected)
    assert compiled.variants


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("gradients", [False, True])
def test_what_a_program_with_breaks_kept(backend: str, gradients: bool) -> None:
    """If it fails, a tensor that such a program stored is an internal one to the next compiled function."""
    box: list[torch.Tensor] = []

    @compile(backend=backend)
    def stores(x: torch.Tensor) -> None:
        y = x + 1
        if y.sum().item() > 0:
            y = y * 3
        box.append(y)

    @compile(backend=backend)
    def doubled(y: torch.Tensor) -> torch.Tensor:
        assert type(y).__name__ != "Pending"
        return y * 2

    for size in (3, 3, 5, 7):
        x = torch.ones(size, requires_grad=gradients)
        stores(x)
        result = doubled(box[-1])
        assert result.tolist() == [12.0] * size and type(result) is torch.Tensor
        if gradients:
            result.sum().backward()
            assert x.grad.tolist() == [6.0] * size
    assert doubled.variants and not doubled.fallbacks


def test_a_container_of_the_program_that_is_returned() -> None:
    """If it fails, an internal tensor comes out of a call in an object that torch's pytree does not know."""
    result = compile(lambda x: ByKey(doubled=x * 2))(torch.ones(3))
    assert type(result["doubled"]) is torch.Tensor


@pytest.mark.parametrize("gradients", [False, True])
def test_written_where_a_mask_says(gradients: bool) -> None:
    """If it fails, a call raises where a check is about numbers that no operator of the graph gives."""

    def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        mask = x > 0
        z = x.clone()
        z[mask] = y[mask] * 2
        return z.sum()

    compiled = compile(written)
    for size in (3, 3, 5, 7):
        torch.manual_seed(size)
        x, y = (torch.randn(size, 3, requires_grad=gradients) for _ in range(2))
        torch.testing.assert_close(compiled(x, y), written(x, y))
        if gradients:
            found = torch.autograd.grad(compiled(x, y), [x, y])
            torch.testing.assert_close(found, torch.autograd.grad(written(x, y), [x, y]))


class Nothing:
    """What answers no question, as a proxy of something that is not there."""

    __slots__ = ("held",)
    __hash__ = None

    def __getattribute__(self, name: str) -> object:
        raise LookupError(name)

    def __eq__(self, other: object) -> bool:
        raise LookupError

    def __bool__(self) -> bool:
        raise LookupError


class Pretends:
    @property
    def __dict__(self) -> dict[str, object]:
        raise LookupError

    @property
    def __class__(self) -> type:
        raise LookupError


class Listed(list):
    def __iter__(self) -> Iterator[object]:
        raise LookupError

    def __len__(self) -> int:
        raise LookupError


class Spelled(str):
    def __eq__(self, other: object) -> bool:
        raise LookupError

    __hash__ = str.__hash__


class Slots:
    __slots__ = ("absent", "weight")

    def __init__(self) -> None:
        self.weight = torch.ones(3)


class Lookalike:
    factor = torch.ones(3)

    def __init__(self) -> None:
        self._parameters = self._modules = None


RAISING = {"nothing": Nothing(), "pretends": Pretends(), "listed": Listed()}
SPELLED, SLOTS, LOOKALIKE = Spelled(), Slots(), Lookalike()
NOT_A_NUMBER = numpy.array([2.0, math.nan])


def behind(function: Callable[..., object]) -> Callable[[torch.Tensor], object]:
    """Called by a name that is computed: it is looked at when it is entered."""
    by_name = {function.__name__: function}
    return lambda x: by_name["".join(function.__name__)](x)


def mentions_slots(x):
    y = x
    return x + 1 if y is not SLOTS else x


def mentions_an_absent_slot(x):
    try:
        return x if x is SLOTS.absent else x + 2
    except AttributeError:
        return x + 1


def mentions_a_lookalike(x):
    y = x
    return x + 1 if y is not LOOKALIKE._parameters else x


def mentions_a_text(x):
    return x + len(SPELLED)


def mentions_an_array(x):
    return x + float(NOT_A_NUMBER[0])


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize(
    "function",
    [mentions_slots, mentions_an_absent_slot, mentions_a_lookalike, mentions_a_text, mentions_an_array],
    ids=lambda function: function.__name__,
)
def test_beside_what_raises(function: Callable[..., object], hides: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, an object of the program's raises in a hook of ours, or is taken for changed."""
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    compiled = compile(behind(function) if hides else function, fullgraph=True)
    for size in (3, 3, 5):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), function(x))
    assert compiled.variants and not unraisable


@pytest.mark.parametrize("name", RAISING)
@pytest.mark.parametrize("hides", [False, True])
def test_what_raises(name: str, hides: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, looking at such an object raises in the program, or in a hook of ours."""
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    scope: dict[str, Any] = {name: RAISING[name], "__name__": __name__}
    exec(f"def f(x):\n    {name}\n    return x + 1", scope)
    compiled = compile(behind(scope["f"]) if hides else scope["f"])
    for size in (3, 3, 5):
        assert compiled(torch.ones(size)).tolist() == [2.0] * size
    assert not unraisable


@pytest.mark.parametrize("expression", ["SLOTS.weight", "LOOKALIKE.factor", "Lookalike.factor"])
def test_tensors_are_compared_wherever_they_are_held(expression: str) -> None:
    """If it fails, an answer that holds for one argument is given for another."""
    scope = {"SLOTS": SLOTS, "LOOKALIKE": LOOKALIKE, "Lookalike": Lookalike, "__name__": __name__}
    exec(f"def f(x):\n    return x * 2 if x is {expression} else x * 3", scope)
    function: Any = scope["f"]
    compiled = compile(function)
    for x in (torch.ones(3), eval(expression), torch.ones(3)):
        torch.testing.assert_close(compiled(x), function(x))
