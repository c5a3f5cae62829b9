"""Marks and policies hold on every route: `compile` and `torch.compile(f, backend="symshape")`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest
import torch
from torch._dynamo.exc import UserError

from frontends.pytorch import mark_dynamic, mark_maybe_dynamic, mark_static, mark_unbacked
from frontends.pytorch.dynamo.capturing import after_failed_capture
from frontends.pytorch.shape_env import UndecidedBranch
from shapes.errors import SpecializedDynamic
from tests.frontends.pytorch.dynamo.routes import ROUTES, Made, Route, agrees, branches, double, routes
from tests.interpreter import evaluates_frames

route = pytest.fixture(routes, params=ROUTES)


# ---------------------------------------------------------------------- marks


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
        with pytest.raises(SpecializedDynamic, match=r"x\.shape\[0\] == 8.*\broutes.py"):
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
    with pytest.raises((UndecidedBranch, UserError), match=r"(?s)cannot decide.*\broutes.py") as raised:
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


def test_a_function_chooses(route: Route) -> None:
    """Fails when a function given as `dynamic` is not asked for every size."""
    compiled = route(double, dynamic=lambda name, axis, size: axis == 1)
    for columns in (4, 5, 1):
        agrees(compiled, double, torch.ones(3, columns))
    assert route.sizes == ["3 ?"]


# ---------------------------------------------------------------------- automatic, partially specialized


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


def test_a_number_of_a_module_is_a_symbol_once_it_has_changed(route: Route) -> None:
    """With dynamic=True a number that changes makes a graph for each value, or 0.0 is taken for -0.0."""
    body = {"forward": lambda self, x: x.repeat(self.count) * self.scale + torch.copysign(x[:1], self.zero)}
    module, x = type("Scaled", (torch.nn.Module,), body)(), torch.randn(5)
    call = route(module, dynamic=True)
    for module.count, module.scale, module.zero in [(3, 0.5, -0.0), (4, 0.25, 0.0), (5, 0.75, -0.0), (7, 1.5, 0.0)]:
        assert torch.equal(call(x), module(x))
    assert len(route.graphs) == 3


# ---------------------------------------------------------------------- optional optimizations


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


# ---------------------------------------------------------------------- graph breaks


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


# ---------------------------------------------------------------------- pages of the gallery: G5, G18


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


def test_other_backends_compile_a_backward_within_a_frame() -> None:
    """Fails when Dynamo compiles our callbacks, which torch calls under a lock: both then wait forever."""

    def program(x: torch.Tensor) -> torch.Tensor:
        (x @ x).mean().backward()
        return x.detach() * 2

    x = torch.ones(2, 2, requires_grad=True)
    thread = threading.Thread(target=torch.compile(program, backend="aot_eager"), args=(x,), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and x.grad is not None


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
