"""Marks, relations, policies and limits hold on every route: `compile` and `torch.compile(f, backend="symshape")`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch._dynamo.exc import UserError

from frontends.pytorch import (
    Policy,
    compile,
    dims,
    mark_dynamic,
    mark_maybe_dynamic,
    mark_static,
    mark_unbacked,
    one_of,
)
from frontends.pytorch.dynamo.backend import Graph
from frontends.pytorch.dynamo.frame_evaluation import after_failed_capture
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.shape_env import UndecidedBranch
from shapes.errors import SpecializedDynamic
from tests.frontends.pytorch.dynamo.evaluation import evaluates_frames, graphs_of_dynamo

Made = Callable[..., Any]


@dataclass
class Route:
    """One way to compile, and the graphs that were captured by it."""

    name: str
    graphs: list[Graph]

    def __call__(
        self,
        function: Made,
        *,
        dynamic: bool | Mapping[str, Any] | Callable[[str, int, int], object] | None = None,
        fullgraph: bool = False,
        policy: Policy | None = None,
    ) -> Made:
        if self.name == "compile":
            return compile(function, backend="cpu", dynamic=dynamic, fullgraph=fullgraph, policy=policy)  # type: ignore[arg-type]
        options: dict[str, Any] = {"kernels": "cpu"}
        if policy is not None:
            options["policy"] = policy
        if not (dynamic is None or isinstance(dynamic, bool)):
            options["dynamic"], dynamic = dynamic, None
        return torch.compile(function, backend="symshape", dynamic=dynamic, fullgraph=fullgraph, options=options)

    @property
    def sizes(self) -> list[str]:
        """The sizes of the inputs of each graph, by name: `?` for a symbol."""
        found = []
        for variant in [variant for graph in self.graphs for variant in graph.variants]:
            shapes = {given.name: map(str, given.result.metadata.shape) for given in variant.inputs}
            texts = {name: " ".join([size if size.isdigit() else "?" for size in shapes[name]]) for name in shapes}
            found.append(", ".join([texts[name] for name in sorted(texts)]))
        return found


graphs = pytest.fixture(graphs_of_dynamo)


@pytest.fixture(params=["compile", "torch.compile"])
def route(request: pytest.FixtureRequest, graphs: list[Graph]) -> Route:
    """A route, with the graphs that Dynamo captures in a test."""
    return Route(request.param, graphs)


def agrees(compiled: Made, function: Made, *inputs: object) -> None:
    torch.testing.assert_close(compiled(*inputs), function(*inputs))


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def branches(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.shape[0] == 8 else x * 3


def pinned(x: torch.Tensor) -> torch.Tensor:
    for step in range(x.shape[0]):
        x = x * step
    return x


def test_a_relation_of_another_argument(route: Route) -> None:
    """Fails when sizes are stated of an argument that the function does not have, and nothing is said."""
    compiled = route(double, dynamic={"x": ("b", None), "weight": (None, "2*b")})
    with pytest.raises(ConstraintViolation, match="weight"):
        compiled(torch.ones(3, 2))


# ---------------------------------------------------------------------- B1: marks


def test_a_marked_size_is_dynamic_within_its_bounds(route: Route) -> None:
    """Fails when a mark or its bounds are dropped, or a size beyond them is taken for one within."""
    compiled = route(double)
    x = torch.ones(3, 8)
    mark_dynamic(x, 0, lo=1, hi=64)
    for each in (x, torch.ones(64, 8), torch.ones(1, 8)):
        agrees(compiled, double, each)
    assert route.sizes == ["? 8"]
    agrees(compiled, double, torch.ones(65, 8))
    assert len(route.sizes) == 2


def test_a_strict_mark_that_becomes_a_constant_is_an_error_each_time(route: Route) -> None:
    """Fails when a strictly dynamic size is specialized without a word, the second time included, or the error does
    not name the guard and its line; or the process is not as it was before."""
    compiled = route(branches)
    for _ in range(3):
        x = torch.ones(8, 3)
        mark_dynamic(x, 0)
        with pytest.raises(SpecializedDynamic, match=r"x\.shape\[0\] == 8.*test_routes.py"):
            compiled(x)
        assert evaluates_frames()


def test_a_mark_that_is_not_strict_may_become_a_constant(route: Route) -> None:
    """Fails when a mark with `strict=False`, or a maybe-dynamic size, is an error."""
    compiled = route(branches)
    for mark in (lambda x: mark_dynamic(x, 0, strict=False), lambda x: mark_maybe_dynamic(x, 0)):
        x = torch.ones(8, 3)
        mark(x)
        agrees(compiled, branches, x)


def test_a_static_mark(route: Route) -> None:
    """Fails when a size that is marked as static becomes a symbol."""
    compiled = route(double, dynamic=True)
    for columns in (8, 9):
        x = torch.ones(3, columns)
        mark_static(x, 1)
        agrees(compiled, double, x)
    assert route.sizes == ["? 8", "? 9"]


def test_an_unbacked_mark(route: Route) -> None:
    """Fails when a size that is marked as unbacked has a guard, or a branch on it is taken without a word."""
    compiled = route(double)
    x = torch.ones(3, 8)
    mark_unbacked(x, 0)
    for each in (x, torch.ones(0, 8), torch.ones(1, 8)):
        agrees(compiled, double, each)
    assert len(route.graphs) == 1
    branching = route(branches, fullgraph=True)
    with pytest.raises((UndecidedBranch, UserError), match=r"(?s)cannot decide.*test_routes.py") as raised:
        branching(x)
    if route.name == "torch.compile":
        # torch itself leaves its evaluation of frames on after an error of a capture
        after_failed_capture(raised.value)
    assert evaluates_frames()


def test_static_by_default_and_everything_dynamic(route: Route) -> None:
    """Fails when `dynamic=False` makes a symbol, or `dynamic=True` a constant, of 0 and 1 included."""
    static, everything = route(lambda x: x * 2, dynamic=False), route(lambda x: x * 2, dynamic=True)
    for rows in (2, 3, 4):
        agrees(static, double, torch.ones(rows))
    assert route.sizes == ["2", "3", "4"]
    for rows in (4, 1, 9):
        agrees(everything, double, torch.ones(rows))
    assert route.sizes[3:] == ["?"]


# ---------------------------------------------------------------------- B2, B3: automatic, partially specialized


def test_only_the_size_that_differs_becomes_a_symbol(route: Route) -> None:
    """Fails when the second call with another size makes more, or less, than that dimension dynamic."""
    compiled = route(lambda x: (x * 2).sum(0))
    for rows in (3, 5, 7, 1, 64):
        compiled(torch.ones(rows, 8))
    assert route.sizes == ["3 8", "? 8"]


def test_equal_sizes_are_not_one(route: Route) -> None:
    """Fails when two sizes that happen to be equal are merged, and the first call with others is a recompilation."""

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum()

    compiled = route(program, dynamic=True)
    for sizes in ((4, 4), (2, 5), (1, 3)):
        agrees(compiled, program, *[torch.ones(size) for size in sizes])
    assert len(route.graphs) == 1


def test_only_the_size_that_python_needs_becomes_a_constant(route: Route) -> None:
    """Fails when a value that Python needs makes a constant of more than the dimension that it comes from."""

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for step in range(y.shape[0]):
            x = x * step
        return x + y.sum()

    compiled = route(program, dynamic=True)
    for rows, columns, other in ((2, 5, 3), (7, 1, 3), (3, 3, 3)):
        agrees(compiled, program, torch.ones(rows, columns), torch.ones(other))
    assert route.sizes == ["? ?, 3"]
    agrees(compiled, program, torch.ones(2, 5), torch.ones(4))
    assert route.sizes == ["? ?, 3", "? ?, 4"]


# ---------------------------------------------------------------------- B4: limits


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_the_same_question_is_answered_a_limited_number_of_times(
    route: Route, limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Fails when a size that the program makes a constant is compiled for with every new value, or results differ once
    the limit is reached."""
    compiled = route(pinned, dynamic=True, policy=Policy(recompile_limit=limit))
    with caplog.at_level(logging.WARNING, "symshape"):
        for rows in (2, 3, 4, 5, 6, 7, 8, 2, 3, 9):
            agrees(compiled, pinned, torch.ones(rows, 2))
    assert len(route.graphs) == limit + 1
    told = [each.getMessage() for each in caplog.records if each.name == "symshape"]
    assert len(told) == 1 and f"{limit} recompilations for the same question" in told[0]


def test_a_length_is_asked_about_as_often_as_by_torch(route: Route) -> None:
    """Fails when a list that grows is given up sooner than torch does, or compiled for forever."""
    kept: list[torch.Tensor] = []

    def step(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x * len(kept)

    compiled = route(step, dynamic=True)
    for number in range(1, 13):
        assert compiled(torch.ones(2)).tolist() == [number, number]
    # torch stops at its own number of graphs
    assert 8 <= len(route.graphs) <= 10


def test_other_sizes_stay_dynamic_at_the_limit(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when a size that the program pins takes the others with it: every new size is another graph, or the values
    that have a graph run without it."""
    # threads that compile at once may leave torch's flag on
    monkeypatch.setattr(torch.compiler, "_is_compiling_flag", False)

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, bool]:
        return pinned(x).sum() + y, torch.compiler.is_compiling()

    def in_graph(rows: int, *others: int) -> bool:
        x, y = torch.ones(rows, others[0]), torch.ones(others[1])
        found, compiling = compiled(x, y)
        torch.testing.assert_close(found, pinned(x).sum() + y)
        return bool(compiling)

    compiled = route(program, dynamic=True, policy=Policy(recompile_limit=2))
    assert [in_graph(rows, rows + 1, rows + 2) for rows in (2, 3, 4, 5, 6)] == [True, True, True, False, False]
    assert all(in_graph(2 + rows % 3, rows, rows + 7) for rows in range(2, 30))
    assert len(route.sizes) == 3


def test_the_number_of_variants_is_limited(route: Route) -> None:
    """Fails when a program is compiled for more often than its policy allows, for different questions too."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return pinned(x) + pinned(x.t()).t()

    compiled = route(program, dynamic=True, policy=Policy(recompile_limit=9, variants=3))
    for rows in range(2, 9):
        agrees(compiled, program, torch.ones(rows, 10 - rows))
    assert len(route.sizes) == 3


def test_a_value_of_the_middle_is_a_break_and_not_a_guard(route: Route) -> None:
    """Fails when a branch on data is dropped or taken as it was at first, or each value costs a graph."""

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y + 1 if y.sum() > 0 else y - 1

    compiled = route(program, dynamic=True)
    for rows, sign in ((3, 1), (4, -1), (5, 1), (1, -1), (9, 1), (9, -1)):
        agrees(compiled, program, sign * torch.ones(rows))
    assert route.sizes == ["?", "?", "?"]


# ---------------------------------------------------------------------- B5: optional optimizations


@pytest.mark.parametrize("name", ["rows", "columns", "transposed", "matrices"])
def test_no_guard_is_added_for_faster_kernels(route: Route, name: str) -> None:
    """Fails when the backend adds a guard that nobody has asked for, such as a multiple of the vector length."""
    programs: dict[str, Made] = {
        "rows": lambda x: (x * 2).softmax(-1).sum(-1),
        "columns": lambda x: x.exp().sum(0),
        "transposed": lambda x: x.t().sum(1) + 1,
        "matrices": lambda x: x @ x.t(),
    }
    compiled = route(programs[name], dynamic=True)
    for rows, columns in ((64, 32), (5, 7), (1, 16), (33, 1)):
        agrees(compiled, programs[name], torch.ones(rows, columns))
    (variant,) = [each for graph in route.graphs for each in graph.variants]
    assert variant.guards == ()


# ---------------------------------------------------------------------- B6: graph breaks


def test_dynamic_sizes_survive_a_graph_break(route: Route, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails when what was dynamic before a graph break is a constant behind it."""

    def program(x: torch.Tensor) -> torch.Tensor:
        y = torch.cat([x, x])
        print(end="")
        return y * 2

    compiled = route(program)
    for rows in (3, 5, 7, 9):
        x = torch.ones(rows, 4)
        mark_dynamic(x, 0)
        agrees(compiled, program, x)
    assert route.sizes == ["? 4", "? 4"]


# ---------------------------------------------------------------------- G15: relations


def scaled(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x.sum() * w


def test_violated_relations_are_refused_every_time(route: Route) -> None:
    """Fails when a call whose sizes violate a relation is accepted, the first time or a later one."""
    compiled = route(scaled, dynamic={"x": ("b",), "w": ("2*b",)})
    agrees(compiled, scaled, torch.ones(4), torch.ones(8))
    for _ in range(6):
        with pytest.raises(ConstraintViolation, match=r"`w.shape\[0\] == 2\*b` is stated.* = 7, b = 3"):
            compiled(torch.ones(3), torch.ones(7))
        assert evaluates_frames()
        agrees(compiled, scaled, torch.ones(3), torch.ones(6))
    assert len(route.graphs) == 1


def breaks(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y.sum() + w.sum() if y.sum() > 0 else y.sum()


def test_relations_hold_in_programs_with_breaks(route: Route) -> None:
    """Fails when a relation is dropped by a program whose graph ends before it reads the second size."""
    compiled = route(breaks, dynamic={"x": ("b",), "w": ("2*b",)})
    for size in (3, 4, 1):
        agrees(compiled, breaks, torch.ones(size), torch.ones(2 * size))
        with pytest.raises(ConstraintViolation, match=r"== 2\*b` is stated"):
            compiled(torch.ones(size), torch.ones(7))


def test_marks_hold_in_programs_with_breaks(route: Route) -> None:
    """Fails when a size that is marked as dynamic becomes a constant behind a break without a word."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return branches(x) if x.sum() > 0 else x

    compiled = route(program)
    for _ in range(2):
        x = torch.ones(8)
        mark_dynamic(x, 0)
        with pytest.raises(SpecializedDynamic, match=r"x\.shape\[0\] == 8"):
            compiled(x)
        assert evaluates_frames()


def test_relations_decide_branches(route: Route) -> None:
    """Fails when a stated multiple, sum or choice of values is not known where the program asks."""

    def program(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 5 * y.shape[0] and z.shape[0] % 4 == 0 and z.shape[0] <= 16:
            return x.view(5, -1).sum(0) + y + z.sum()
        return x

    (b,) = dims("b", lo=1, hi=8)
    compiled = route(program, dynamic={"y": (b,), "x": (5 * b,), "z": (one_of(4, 8, 16),)})
    for size, other in ((2, 8), (1, 4), (8, 16)):
        agrees(compiled, program, torch.ones(5 * size), torch.ones(size), torch.ones(other))
    assert len(route.graphs) == 1
    for size, other in ((9, 8), (2, 12)):
        with pytest.raises(ConstraintViolation):
            compiled(torch.ones(5 * size), torch.ones(size), torch.ones(other))


def test_a_function_chooses(route: Route) -> None:
    """Fails when a function given as `dynamic` is not asked for every size."""
    compiled = route(double, dynamic=lambda name, axis, size: axis == 1)
    for columns in (4, 5, 1):
        agrees(compiled, double, torch.ones(3, columns))
    assert route.sizes == ["3 ?"]


# ---------------------------------------------------------------------- G5, G18


def test_both_sides_of_a_maximum_are_one_graph(route: Route) -> None:
    """Fails when `max(n, 16)` costs a graph for each side of 16 (PyTorch 149635)."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(max(x.shape[0], 16))

    compiled = route(program, dynamic=True)
    for size in (3, 16, 40, 1):
        agrees(compiled, program, torch.ones(size))
    assert len(route.sizes) == 1


def test_reshape_to_a_shape_needs_one_fact(route: Route) -> None:
    """Fails when `y.reshape(x.shape)` makes constants of sizes (PyTorch 139408), or needs more than equal products."""

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return y.reshape(x.shape) + x

    compiled = route(program, dynamic=True)
    for x, y in (((4, 6), (8, 3)), ((5, 2), (1, 10)), ((3, 2), (2, 3)), ((4, 6), (4, 6))):
        agrees(compiled, program, torch.ones(x), torch.ones(y))
    (variant,) = [each for graph in route.graphs for each in graph.variants]
    assert [str(guard) for guard in variant.guards] == ["x.shape[0]*x.shape[1] == y.shape[0]*y.shape[1]"]


# ---------------------------------------------------------------------- the route of torch


def test_marks_hold_after_torch_was_reset(route: Route) -> None:
    """Fails when torch, which forgets its callbacks when it is reset, asks its own ShapeEnv from then on."""
    compiled = route(branches)
    torch.compiler.reset()
    for _ in range(2):
        x = torch.ones(8, 3)
        mark_dynamic(x, 0)
        with pytest.raises(SpecializedDynamic):
            compiled(x)


def test_other_backends_have_torchs_environment() -> None:
    """Fails when our policies reach what is compiled for another backend: there, sizes of 1 are constants."""
    from torch.fx.experimental import symbolic_shapes

    before = symbolic_shapes.ShapeEnv
    seen: list[object] = []

    def other(module: torch.fx.GraphModule, inputs: list[object]) -> Callable[..., object]:
        seen.append(type(torch._guards.TracingContext.get().fake_mode.shape_env))
        return module.forward

    torch.compiler.reset()
    torch.compile(lambda x: x * 3, backend="symshape", dynamic=True)(torch.ones(4))
    assert torch.compile(lambda x: x * 2, backend=other, dynamic=True)(torch.ones(4)).sum() == 8
    assert seen == [before] and symbolic_shapes.ShapeEnv is before
    assert "frontends.pytorch.shape_env" in sys.modules


def test_a_number_of_a_module_is_a_symbol_once_it_has_changed(route: Route) -> None:
    """With dynamic=True a number that changes makes a graph for each value, or 0.0 is taken for -0.0."""
    body = {"forward": lambda self, x: x.repeat(self.count) * self.scale + torch.copysign(x[:1], self.zero)}
    module, x = type("Scaled", (torch.nn.Module,), body)(), torch.randn(5)
    call = route(module, dynamic=True)
    for module.count, module.scale, module.zero in [(3, 0.5, -0.0), (4, 0.25, 0.0), (5, 0.75, -0.0), (7, 1.5, 0.0)]:
        assert torch.equal(call(x), module(x))
    assert len(route.graphs) == 2
