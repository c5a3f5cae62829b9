"""`torch.compile(f, backend="symshape")`: as eager torch, in graphs, with torch's symbols as ours."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from typing import Any

import pytest
import torch

from frontends.pytorch.dynamo import backend
from frontends.pytorch.dynamo.backend import Graph, symshape
from frontends.pytorch.symbolic.tensor import Result
from shapes.errors import ShapeError
from tests.frontends.pytorch.dynamo.graphs import graphs_of_dynamo

regions = pytest.fixture(graphs_of_dynamo)


def test_one_variant_for_all_sizes(regions: list[Graph]) -> None:
    """Torch's knowledge of sizes is used: `x.view(s0, -1)` needs no question if s0 is `x.shape[0]`."""
    compiled = torch.compile(
        lambda x, y: (x.view(x.shape[0] * 2, -1) + y.view(y.shape[0] * 2, -1)).sum(), backend=symshape, dynamic=True
    )
    for size in (3, 5, 8):
        x, y = torch.ones(size, 4), torch.ones(size, 4)
        assert compiled(x, y) == 8 * size
    (region,) = regions
    assert len(region.variants) == 1


def test_a_guard_of_torch_is_a_fact(regions: list[Graph]) -> None:
    compiled = torch.compile(lambda x: x * 2 if x.shape[0] <= 100 else x * 3, backend=symshape, dynamic=True)
    assert torch.equal(compiled(torch.ones(8)), torch.full((8,), 2.0))
    assert torch.equal(compiled(torch.ones(200)), torch.full((200,), 3.0))
    variants = [variant for region in regions for variant in region.variants]
    facts = [str(guard) for variant in variants for guard in variant.guards]
    assert any("<= 100" in fact for fact in facts) and any(">= 101" in fact for fact in facts), facts


def test_lines_are_those_of_the_program(regions: list[Graph]) -> None:
    """Errors and guards name the program's lines, not a generated file."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x).float() * x.sum()

    torch.compile(program, backend=symshape, dynamic=True)(torch.tensor([0.0, 1.0]))
    places = {
        (each.origin.name, each.origin.line)
        for region in regions
        for variant in region.variants
        for each in variant.recording.operations
        if each.origin is not None
    }
    assert places == {("test_backend.py", program.__code__.co_firstlineno + 1)}


def test_a_float_that_changes(regions: list[Graph]) -> None:
    """Dynamo hands floats over as tensors; a layer norm wants its epsilon as a number."""

    def program(x: torch.Tensor, scale: float) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x * scale, (4,), eps=1e-5)

    compiled = torch.compile(program, backend=symshape, dynamic=True)
    for size, scale in ((3, 0.5), (4, 0.25), (5, 3.0)):
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x, scale), program(x, scale))
    assert all(region.variants and not region.reason for region in regions)


def test_sizes_are_those_of_tensors(regions: list[Graph]) -> None:
    """Integers that Dynamo passes beside tensors are the sizes of these: no view has a quotient of products as its
    size, and memory is reused where sizes are equal."""

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
        z = (x * 2).view(-1, x.shape[1] * 2).relu()
        return z + y.view(1, -1), x.shape[0] * y.shape[0]

    compiled = torch.compile(program, backend=symshape, dynamic=True)
    for rows, columns in ((6, 5), (4, 3), (8, 7)):
        x, y = torch.ones(rows, columns), torch.ones(2 * columns)
        found, expected = compiled(x, y), program(x, y)
        assert torch.equal(found[0], expected[0]) and found[1] == expected[1]
    (region,) = regions
    (variant,) = region.variants
    assert not region.reason
    made = {str(each.output.metadata) for each in variant.recording.operations if isinstance(each.output, Result)}
    sums = "float32[x.shape[0]//2, 2*x.shape[1]]"
    assert made == {"float32[x.shape[0], x.shape[1]]", sums, "float32[1, y.shape[0]]"}


class Scaled(torch.nn.Module):
    """Reads floats of its own, of its arguments and of a library, in a graph or also in what an operator is given."""

    def __init__(self, *, branches: bool) -> None:
        super().__init__()
        self.factor, self.inner, self.eps, self.branches = 0.5, 0.25, 1e-5, branches

    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        if self.branches:
            x = torch.cond(x.sum() > 0, lambda a: a * self.inner, lambda a: a - 1, (x,))
        return torch.nn.functional.layer_norm(x * scale + self.factor, (4,), eps=self.eps) * math.pi


@pytest.mark.parametrize(("branches", "learned"), [(False, False), (False, True), (True, False)])
def test_floats_are_handed_over_as_they_are(
    regions: list[Graph], monkeypatch: pytest.MonkeyPatch, branches: bool, learned: bool
) -> None:
    """A call makes no tensors of a model's floats."""
    made: list[object] = []

    def full(value: object) -> torch.Tensor:
        made.append(value)
        return torch.as_tensor(value, dtype=torch.float64)

    monkeypatch.setattr(torch, "_as_tensor_fullprec", full)
    module, generator = Scaled(branches=branches), torch.Generator().manual_seed(0)
    compiled = torch.compile(module, backend=symshape, dynamic=True)
    for size, scale, factor in (
        (3, 0.5, 0.5),
        (4, -0.0, 2.0),
        (5, 3.0, -1.5),
        (5, float("inf"), 1.0),
        (6, 1e-300, 0.0),
    ):
        module.factor, module.inner = factor, factor - 1
        x = torch.randn(size, 4, generator=generator).requires_grad_(learned)
        found, expected = compiled(x, scale), module(x, scale)
        torch.testing.assert_close(found, expected, equal_nan=True)
        if learned:
            one, other = [torch.autograd.grad(each.sum(), x)[0] for each in (found, expected)]
            torch.testing.assert_close(one, other, equal_nan=True)
    assert set(made) <= {-0.5, 1.0, -2.5, 0.0, -1.0} if branches else not made
    assert all(not region.reason for region in regions), [region.reason for region in regions]


def test_a_backward_between_two_graphs(regions: list[Graph]) -> None:
    """Dynamo does not trace the host program of our kernels, which runs where the program calls `backward`."""

    def program(x: torch.Tensor) -> torch.Tensor:
        w = torch.ones(4, requires_grad=True)
        (w * x.detach()).sum().backward()
        return x * w.detach() + w.grad

    x = torch.randn(3, 4, requires_grad=True)
    found, expected = torch.compile(program, backend=symshape, dynamic=True)(x), program(x)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), x), torch.autograd.grad(expected.sum(), x))
    lines = [str(each.origin) for region in regions for variant in region.variants
             for each in variant.recording.operations]  # fmt: skip
    assert lines and all("test_backend.py" in line for line in lines), lines


def test_modes_are_left_when_a_trace_fails(regions: list[Graph]) -> None:
    """A graph that cannot be traced leaves no level of torch.func behind, and its eager run is right."""

    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return torch.func.grad(lambda a: torch.linalg.eigvals(torch.outer(a, a) + torch.eye(3)).real.sum())(x)

    x = torch.tensor([1.0, 2.0, 4.0])
    torch.testing.assert_close(torch.compile(program, backend=symshape)(x), program(x))
    assert torch.is_grad_enabled()
    assert torch._C._functorch.maybe_current_level() is None


def test_it_is_found_by_name() -> None:
    assert "symshape" in torch._dynamo.list_backends()
    assert torch.equal(torch.compile(lambda x: x + 1, backend="symshape")(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kernel": "cpu"}, "did you mean"),
        ({"polizy": "cpu"}, "did you mean"),
        ({"backend": "fast"}, "the backends are"),
    ],
)
def test_options_that_are_none(options: dict[str, object], text: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x: x + 1, backend="symshape", options=options)
    for _ in "ab":
        with pytest.raises(ShapeError, match=text):
            compiled(torch.ones(2))


REFUSED_AND_DEEP = """
import sys, torch
from frontends.pytorch.dynamo.backend import symshape
try:
    torch.compile(lambda x: x + 1, backend=symshape, options={"kernel": "cpu"})(torch.ones(2))
except Exception as error:
    print(type(error).__name__)
sys.setrecursionlimit(10**6)
deep = lambda n: deep(n - 1) + 1 if n else 0
print(deep(100_000))
"""


def test_what_is_refused_leaves_the_interpreter_as_it_was() -> None:
    """A refused option leaves no frame evaluation behind, which would end the process at a deep recursion."""
    found = subprocess.run([sys.executable, "-c", REFUSED_AND_DEEP], capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["ConstraintViolation", "100000"], found.stderr[-2000:]


def test_a_graph_that_cannot_be_read_runs_operator_by_operator(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug of ours is not an error of the program: the graph runs operator by operator."""

    def unreadable(*given: object) -> Any:
        raise KeyError("not of ours")

    torch.compiler.reset()
    monkeypatch.setattr(backend, "function_of", unreadable)
    compiled = torch.compile(lambda x, n: x * n, backend=symshape, dynamic=True)
    with caplog.at_level(logging.WARNING, "symshape"):
        found = [compiled(torch.ones(size), 0.5 * size) for size in (2, 3)]
    torch.testing.assert_close(found, [torch.full((2,), 1.0), torch.full((3,), 1.5)])
    assert "not of ours" in caplog.text and "operator by operator" in caplog.text


def test_a_trace_that_fails_where_the_graph_does_not_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that cannot be traced is not traced again at each call."""
    traced: list[object] = []

    def found(args: object) -> Any:
        traced.append(args)
        raise KeyError("not of ours")

    region = Graph(torch.fx.symbolic_trace(lambda x: x * 2), backend="eager", policy=None)
    monkeypatch.setattr(region.compiled, "_traced", found)
    assert [region.call(torch.ones(1)).item() for _ in range(3)] == [2.0, 2.0, 2.0]
    assert len(traced) == 1 and "not of ours" in region.reason


def test_a_program_that_raises_is_traced_for_other_arguments() -> None:
    """A call that raises, as in Python, leaves the graph open to further variants."""
    region = Graph(torch.fx.symbolic_trace(lambda x, y: (x @ y,)), backend="eager", policy=None)
    with pytest.raises(RuntimeError):
        region.call(torch.ones(2, 3), torch.ones(2, 3))
    assert region.call(torch.ones(2, 3), torch.ones(3, 2))[0].shape == (2, 2)
    assert not region.reason and len(region.variants) == 1


def test_functions_that_a_program_allows_in_graphs() -> None:
    """Fails when one that is called for its effect alone is called while it is traced, and not again."""
    calls: list[bool] = []
    note = torch._dynamo.allow_in_graph(lambda: calls.append(torch.is_grad_enabled()))
    compiled = torch.compile(lambda x: (note(), x + 1)[1], backend="symshape", dynamic=True)
    compiled(torch.ones(2))
    known = len(calls)
    compiled(torch.ones(3))
    with torch.no_grad():
        compiled(torch.ones(3))
    assert calls[known:][0] and not calls[-1]
