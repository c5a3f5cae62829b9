"""Operators of a program's own: rule, gradient, kernels, and what is found out about those that have no rule."""

from __future__ import annotations

import pytest
import torch
from hypothesis import strategies as st

from frontends.pytorch import compile, trace
from frontends.pytorch.custom_operators import custom_op
from frontends.pytorch.errors import TraceError
from shapes.rules import Shape
from shapes.testing import NotInferred
from shapes.testing.calls import Input
from tests.frontends.pytorch.against_eager import agrees, run

randn = torch.randn


@custom_op("tests::window")
def window(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    return x.unfold(-1, size, step).clone()


@window.shape_rule
def _(env, x, size, step=1):
    env.require(size <= x[-1], "the window is longer than the axis")
    return (*x[:-1], (x[-1] - size) // step + 1, size)


@custom_op("tests::top")
def top(x: torch.Tensor, least: float) -> tuple[torch.Tensor, torch.Tensor]:
    where = (x > least).nonzero().reshape(-1)
    return x[where], where


@top.shape_rule
def _(env, x, least):
    count = env.unbacked(lo=0)
    env.postulate(count <= x[0])
    return Shape((count,)), Shape((count,), dtype="int64")


@custom_op("tests::cube")
def cube(x: torch.Tensor) -> torch.Tensor:
    return x**3


@cube.shape_rule
def _(env, x):
    return x


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, gradient):
    (x,) = ctx.saved_tensors
    return gradient * 3 * x * x


cube.gradient(backward, save)


@custom_op("tests::scale", mutates=("x",))
def scale(x: torch.Tensor, by: torch.Tensor) -> None:
    x.mul_(by)


@torch.library.custom_op("tests::plain", mutates_args=())
def plain(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0)


@plain.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("tests::counted", mutates_args=())
def counted(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0]


@counted.register_fake
def _(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


@custom_op("tests::halved")
def halved(x: torch.Tensor, extra: int) -> torch.Tensor:
    return x.new_ones(x.shape[0] // 2 + extra, max(x.shape[1], 3))


@custom_op("tests::deceptive")
def deceptive(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(x.shape[0] if x.shape[0] < 20 else 1)


@custom_op("tests::erratic")
def erratic(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones((5 * x.shape[0] ** 3 + 3) % 11)


def tensors(rank: int) -> st.SearchStrategy[Input]:
    return st.lists(st.integers(0, 6), min_size=rank, max_size=rank).map(Input)


def test_rule_and_guards() -> None:
    """Fails when an operator's own rule does not give its sizes, or what it requires is no guard."""
    variant = agrees(lambda x: window(x, 3, step=2).sum(-1), (randn(2, 9),), (randn(4, 6),), (randn(1, 3),))
    assert [str(guard) for guard in variant.guards] == ["x.shape[1] >= 3"]
    with pytest.raises(Exception, match="longer than the axis"):
        trace(lambda x: window(x, 3), (randn(2, 2),))


def test_rule_against_kernel() -> None:
    """Fails when the comparison of rule and kernel finds nothing, or finds too much."""
    axes = st.lists(st.integers(0, 6), min_size=1, max_size=3).map(Input)
    window.check(x=axes, size=st.integers(1, 4), step=st.integers(1, 3))


def test_sizes_of_the_run() -> None:
    """Fails when two outputs of one count get two sizes, or one sample's count is kept."""

    def program(x):
        values, places = top(x, 0.0)
        return values * places, x[places] - values

    agrees(program, (randn(6),), (torch.ones(4),), (-torch.ones(5),))


def test_gradient() -> None:
    """Fails when the gradient of an operator is not in the trace."""

    def program(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((cube(x) * 2).sum(), x)

    agrees(program, (randn(3, 4),), (randn(2, 5),))


def test_changes_an_argument() -> None:
    """Fails when an operator that changes its argument is left away or done on a copy."""

    def program(x):
        scale(x, x.sum())
        return x + 1

    agrees(program, (randn(3),), (randn(5),))


def test_of_torch_library() -> None:
    """Fails when an operator's fake implementation is not used, sizes of the run included."""
    agrees(lambda x: plain(x) * 2, (randn(3, 4),), (randn(1, 6),))
    agrees(lambda x: counted(x) * 2, (randn(5),), (torch.ones(4),), (-torch.ones(2),))


def test_inferred() -> None:
    """Fails when a rule found by running the operator is wrong, or not compared with each result."""
    found = halved.infer_shape_rule(x=tensors(2), extra=st.integers(0, 6))
    assert "// 2, sym_max(x[1], 3)" in str(found.__doc__)
    variant = agrees(lambda x: halved(x, 1).sum(), (randn(6, 5),), (randn(3, 2),), (randn(9, 4),))
    assert any("check_results" in node.name for node in variant.graph.graph.nodes)
    compiled = compile(lambda x: halved(x, 1) * 2, dynamic=True, fullgraph=True)
    for x in (randn(6, 5), randn(9, 4)):
        torch.testing.assert_close(compiled(x), halved(x, 1) * 2)
    assert len(compiled.variants) == 1


def test_an_inferred_rule_that_fails_later() -> None:
    """Fails when a rule that holds for small sizes only gives a wrong result for large ones."""
    deceptive.infer_shape_rule(x=tensors(1))
    variant = trace(lambda x: deceptive(x) * torch.ones(x.shape[0]), (randn(6),))
    torch.testing.assert_close(run(variant, (randn(9),)), torch.ones(9))
    with pytest.raises(RuntimeError, match="mismatch"):
        run(variant, (randn(30),))


def test_nothing_to_infer() -> None:
    """Fails when an operator whose sizes nothing explains is traced, or the message does not say what to write."""
    with pytest.raises(NotInferred):
        erratic.infer_shape_rule(x=tensors(1))
    with pytest.raises(TraceError, match=r"tests::erratic.* has no shape rule.*shape_rule"):
        trace(lambda x: erratic(x), (randn(6),))


@pytest.mark.parametrize("backend", ["symshape", "aot_eager"])
def test_torchs_tracer_keeps_the_sizes_of_a_rule_symbolic(backend):
    torch._dynamo.reset()

    def program(x, size):
        return window(x, size) * 2, top(x[0], 0.0)[0].neg()

    compiled = torch.compile(program, backend=backend, dynamic=True, fullgraph=True)
    with torch._dynamo.config.patch(recompile_limit=1):
        for axis, size in ((9, 3), (12, 4), (30, 2), (7, 6)):
            x = randn(2, axis)
            torch.testing.assert_close(compiled(x, size), program(x, size))


@custom_op("tests::evened")
def evened(x: torch.Tensor) -> torch.Tensor:
    return x[::2].clone() if x.shape[0] % 2 == 0 else x.clone()


@evened.shape_rule
def _(env, x):
    return (x[0] // 2,) if x[0] % 2 == 0 else x


def test_torchs_tracer_guards_on_the_branch_of_a_rule():
    torch._dynamo.reset()
    graphs = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: evened(x) + 1, backend=graphs, dynamic=True)
    for rows in (8, 12, 7, 9, 10):
        x = randn(rows)
        torch.testing.assert_close(compiled(x), evened(x) + 1)
    assert graphs.frame_count == 2
