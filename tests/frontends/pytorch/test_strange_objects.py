"""Objects that make their attributes themselves, that hold themselves, or whose hooks are their own methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

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
