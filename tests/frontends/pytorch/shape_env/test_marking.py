"""Marks, relations and policies: facts from the moment a symbol is created."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest
import torch

from frontends.pytorch.recording.inputs import Choice
from frontends.pytorch.shape_env import EngineShapeEnv, Policies, installed
from tests.frontends.pytorch.shape_env.environments import guards


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Graphs:
    """A backend that keeps the sizes and environments of the graphs that it is given."""

    def __init__(self) -> None:
        self.shapes: list[list[str]] = []
        self.environments: list[EngineShapeEnv] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        values = [node.meta["example_value"] for node in graph.graph.find_nodes(op="placeholder")]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self.shapes.append([", ".join(map(str, tensor.shape)) for tensor in tensors])
        self.environments.append(tensors[0].fake_mode.shape_env)
        return graph.forward


def chosen(**choices: Choice) -> Policies:
    """One choice for the first axis of each argument."""
    return Policies(marks=lambda name, value, axis: choices.get(name[3:-2]) if axis == 0 else None)


RELATED = Policies(
    marks=lambda name, value, axis: Choice("dynamic", word="b") if name == "L['x']" else Choice("dynamic"),
    relations=("w_size0 == 2*b or b >= 1000",),
    arguments=("x", "w"),
)


def test_bounds_are_facts_and_a_size_of_one_is_a_symbol() -> None:
    """A marked size stays symbolic, also 1, and its bounds are facts."""
    graphs = Graphs()
    with installed(replace(chosen(x=Choice("dynamic", lo=1, hi=64)), oblivious=True)):
        compiled = torch.compile(lambda x: x.sin() if x.shape[0] < 65 else x, backend=graphs)
        for size in (5, 1, 64):
            torch.testing.assert_close(compiled(torch.ones(size, 3)), torch.ones(size, 3).sin())
    (environment,) = graphs.environments
    assert (environment.engine.bounds("x_size0"), guards(environment)) == ((1, 64), [])


def test_static_and_unbacked_sizes() -> None:
    """A size marked static is a constant, and one marked unbacked has no guards."""
    graphs = Graphs()
    with installed(chosen(x=Choice("static"), y=Choice("unbacked", lo=2, hi=9))):
        compiled = torch.compile(lambda x, y: (x + 1, y * 2), backend=graphs, dynamic=True)
        for size in (3, 9):
            compiled(torch.ones(4), torch.ones(size))
    assert graphs.shapes == [["4", "u0"]]
    assert graphs.environments[0].engine.proves("u0 <= 9")


def test_the_marked_tensor_is_at_hand() -> None:
    """Marks on tensors, rather than on names, are found."""
    seen: list[tuple[str, object, int]] = []
    x = torch.ones(3, 4)

    def look(name: str, value: object, axis: int) -> None:
        seen.append((name, value, axis))

    with installed(Policies(marks=look)):
        torch.compile(lambda x: x + 1, backend="eager", dynamic=True)(x)
    assert [(name, axis) for name, _, axis in seen[:2]] == [("L['x']", 0), ("L['x']", 1)]
    assert seen[0][1] is x


def test_torchs_own_mark_keeps_its_bounds() -> None:
    """The engine knows the bounds of `torch._dynamo.mark_dynamic(min=, max=)`."""
    graphs = Graphs()
    x = torch.ones(5)
    torch._dynamo.mark_dynamic(x, 0, min=4, max=16)
    with installed():
        torch.compile(lambda x: x + 1 if x.shape[0] >= 4 else x, backend=graphs)(x)
    (environment,) = graphs.environments
    assert (environment.engine.bounds("x_size0"), guards(environment)) == ((4, 16), [])


VIOLATED: Final = """
import torch
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.recording.inputs import Choice
from frontends.pytorch.shape_env import Policies, installed
from shapes.errors import SpecializedDynamic, UndecidedGuard

def raised(function, *sizes, **policies):
    with installed(Policies(**policies)):
        try:
            torch.compile(function, backend="eager", fullgraph=True)(*[torch.ones(size) for size in sizes])
        except Exception as error:
            kinds = (SpecializedDynamic, ConstraintViolation, UndecidedGuard)
            kind = next((kind for kind in kinds if isinstance(error.__cause__ or error, kind)), type(error))
            print(kind.__name__, "|", str(error).splitlines()[0])

def found(x):
    n = x.nonzero().shape[0]
    return x + 1 if n >= 8 else x

torch._dynamo.config.capture_dynamic_output_shape_ops = True
raised(lambda x: x + 1 if x.shape[0] == 5 else x, 5, marks=lambda *given: Choice("dynamic", strict=True))
raised(lambda x: x + 1, 65, marks=lambda *given: Choice("dynamic", hi=64))
raised(lambda x, w: w.view(-1, 2).sum(1) + x, 3, 7, relations=("w_size0 == 2*b",), arguments=("x", "w"),
       marks=lambda name, *given: Choice("dynamic", word="b" if name == "L['x']" else None))
raised(found, 9)
"""


def test_errors_pass_through_dynamo() -> None:
    """Dynamo passes on errors about a mark or a relation, a strictly dynamic size that becomes a constant, and a
    violated relation. (Dynamo keeps its frame evaluation after an error: in a process.)"""
    command = [sys.executable, "-W", "ignore", "-c", VIOLATED]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line.rstrip() for line in found.stdout.splitlines()] == [
        "SpecializedDynamic | x.shape[0] is marked as dynamic, but would become the constant 5",
        "ConstraintViolation | x.shape[0] is 65, but is marked to be at least 1 and at most 64",
        "ConstraintViolation | `w.shape[0] == 2*b` is stated, but is false with w.shape[0] = 7, b = 3",
        "UserError | Consider annotating your code using torch._check*(). cannot decide `u0 >= 8`: "
        "true at u0=8, false at u0=0",
    ], found.stderr[-3000:]


def test_a_relation_holds_before_its_first_question() -> None:
    """A relation decides questions also where the program uses one of its arguments first."""
    graphs = Graphs()
    with installed(replace(RELATED, relations=("w_size0 == 2*b",))):
        compiled = torch.compile(lambda x, w: w.view(-1, 2).sum(1) + x, backend=graphs)
        for size in (3, 8):
            assert compiled(torch.ones(size), torch.ones(2 * size)).shape == (size,)
    assert len(graphs.shapes) == 1


def test_a_disjunction_is_one_guard() -> None:
    """A relation with `or` is one guard, and does not specialize on one side."""
    graphs = Graphs()
    with installed(RELATED):
        compiled = torch.compile(lambda x, w: w.sum() + x.sum(), backend=graphs)
        assert compiled(torch.ones(3), torch.ones(6)) == 9
        assert compiled(torch.ones(1000), torch.ones(6)) == 1006
    assert len(graphs.shapes) == 1


@pytest.mark.parametrize(("specialize", "count"), [(None, 3), (False, 2)])
def test_zero_and_one(specialize: bool | None, count: int) -> None:
    """A size of 1 is compiled on its own only if the policy says so, a size of 0 always."""
    graphs = Graphs()
    with installed(Policies(specialize_zero_one=specialize, duck_shape=False, oblivious=specialize is False)):
        compiled = torch.compile(lambda x, y: (x * 2 + y).sum(-1), backend=graphs, dynamic=True)
        for size in (5, 1, 0, 7):
            x = torch.ones(size, 4)
            assert torch.equal(compiled(x, x.clone()), torch.full((size,), 12.0))
    assert len(graphs.shapes) == count


def test_sizes_that_need_a_guard_keep_it_under_oblivious_policies() -> None:
    """An axis of size 1 that is broadcast keeps its guard."""
    graphs = Graphs()
    with installed(Policies(specialize_zero_one=False, duck_shape=False, oblivious=True)):
        compiled = torch.compile(lambda x, y: x + y, backend=graphs, dynamic=True)
        assert compiled(torch.ones(1, 4), torch.ones(3, 4)).shape == (3, 4)
        assert compiled(torch.ones(3, 4), torch.ones(3, 4)).shape == (3, 4)
    assert len(graphs.shapes) == 2


@pytest.mark.parametrize(("duck", "symbols"), [(None, 1), (False, 2)])
def test_duck_shapes(duck: bool | None, symbols: int) -> None:
    """Equal sizes are one symbol only if the policy says so."""
    graphs = Graphs()
    with installed(Policies(duck_shape=duck)):
        torch.compile(lambda x, y: (x + 1, y + 1), backend=graphs, dynamic=True)(torch.ones(5), torch.ones(5))
    assert len(set(graphs.shapes[0])) == symbols
