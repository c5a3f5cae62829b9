"""Programs that look like refused ones, and in which Dynamo does what Python does, are graphs."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from frontends.pytorch import compile
from tests.frontends.pytorch.dynamo.calls import Made, did, plain

no_entries = pytest.fixture(torch._dynamo.reset, autouse=True)


class Counted(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> object:
        self.calls = getattr(self, "calls", 0) + 1
        print(end="")
        return x * self.calls, vars(self)["calls"], "calls" in dir(self), eval("2 * n", {"n": self.calls})


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.set_materialize_grads(True)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def reads_generators_at_once(x: torch.Tensor) -> object:
    print(end="")
    return x * sum(each for each in range(4)), all(each for each in (x.dim(), 1)), sorted(each for each in (3, 1))


def trains_a_module() -> Made:
    module = torch.nn.Dropout()

    def step(x: torch.Tensor) -> object:
        y = x + 1
        print(end="")
        return module.eval()(y)

    return step, None


HARMLESS: dict[str, Callable[[], Made]] = {
    "an attribute that may be missing is set on a module": lambda: (Counted(), None),
    "gradients are materialized": plain(lambda x: Doubled.apply(x)),
    "generators are read at once": plain(reads_generators_at_once),
    "format() without a format": plain(lambda x: (format(1.5), x + 1)),
    "a method has the name of a builtin": trains_a_module,
}


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_forms_are_graphs(name: str) -> None:
    """A program that looks like a refused one, and in which Dynamo does what Python does, is compiled."""
    expected = did(*HARMLESS[name]())
    function, state = HARMLESS[name]()
    compiled = compile(function, dynamic=True)
    assert did(compiled, state) == expected
    assert compiled.graphs and not compiled.fallbacks


class Shared:
    calls = 0


class Point(NamedTuple):
    x: torch.Tensor
    y: int


def test_classes_without_objects_are_graphs() -> None:
    """An attribute of a class that is set and read by the class, and named tuples, are part of graphs."""
    Shared.calls = 0

    def step(x: torch.Tensor) -> object:
        Shared.calls += 1
        return Point(x, 2)._replace(x=x * Shared.calls)._asdict()

    compiled = compile(step, dynamic=True)
    assert [compiled(torch.ones(size))["x"].sum().item() for size in (1, 2, 3)] == [1.0, 4.0, 9.0]
    assert Shared.calls == 3 and compiled.graphs and not compiled.fallbacks


def test_a_closure_that_is_bound_anew() -> None:
    """A variable that another function binds anew is read at each call."""
    text = "a"

    class Scope:
        def size(self) -> int:
            return len(text)

    compiled = compile(lambda x: x * Scope().size())
    found = [compiled(torch.ones(1)).item()]
    text = "bb"
    assert [*found, compiled(torch.ones(1)).item()] == [1.0, 2.0]


class Output(collections.OrderedDict[str, torch.Tensor]): ...


def test_ordered_dictionaries_in_order_are_graphs() -> None:
    """An ordered dictionary of the caller that is extended is part of a graph; guards see the order of insertion."""
    table = collections.OrderedDict(a=1, b=2)

    def step(x: torch.Tensor) -> object:
        table["b"] = table.pop("a") + 1
        table["a"] = table["c"] = 3
        return x * next(iter(table.values())), list(table)

    expected = did(step, table)
    table = collections.OrderedDict(a=1, b=2)
    compiled = compile(step, dynamic=True)
    assert did(compiled, table) == expected and compiled.graphs and not compiled.fallbacks


def test_new_ordered_dictionaries_are_graphs() -> None:
    """Programs that return new ordered dictionaries, as most of transformers, are graphs."""

    def step(x: torch.Tensor) -> object:
        made = Output(a=x, b=x * 2)
        made["c"] = x + 1
        made.move_to_end("a")
        return made

    compiled = compile(step, dynamic=True)
    assert repr(compiled(torch.ones(3))) == repr(step(torch.ones(3)))
    assert len(compiled.graphs) == 1 and not compiled.fallbacks
