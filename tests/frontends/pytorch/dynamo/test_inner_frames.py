"""Functions that a compiled one calls, and that have a graph break, run as graphs in every call."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from frontends.pytorch import compile
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.variants.compiled_graph import CompiledGraph


def inner(x: torch.Tensor) -> torch.Tensor:
    y = (x * 2).sin()
    print(end="")
    return y.relu() * x.shape[0]


def outer(x: torch.Tensor) -> torch.Tensor:
    return inner(x.exp()) + 1


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return inner(self.layer(x))


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) - 1


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[CompiledGraph]:
    """The graphs that have been run."""
    found = list[CompiledGraph]()
    call = CompiledGraph.__call__

    def noted(self: CompiledGraph, *args: object) -> object:
        found.append(self)
        return call(self, *args)

    monkeypatch.setattr(CompiledGraph, "__call__", noted)
    return found


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("is_module", [False, True])
def test_inner_graphs_run_in_every_call(run: list[CompiledGraph], backend: str, is_module: bool) -> None:
    """Only the first call runs them; later ones run Python, operator by operator."""
    program = Outer() if is_module else outer
    compiled = compile(program, backend=backend)
    for rows in (2, 2, 5, 7, 2, 5):
        x = torch.randn(rows, 3)
        before = len(run)
        ours, theirs = (x.clone().requires_grad_() for _ in range(2))
        got, expected = torch.as_tensor(compiled(ours)), program(theirs)
        torch.testing.assert_close(got, expected)
        got.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad)
        forward = [graph for graph in run[before:] if len(graph.names) > 0]
        assert len(forward) >= 3
    assert not compiled.fallbacks
    # those of the first size, and of all
    assert len(compiled.graphs) <= 8


def test_an_error_inside() -> None:
    """An error of the program in an inner frame is another one, or leaves the program uncompiled."""

    def fails(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print(end="")
        if x.shape[0] == 3:
            raise ValueError("three rows")
        return y

    compiled = compile(lambda x: fails(x) + 1)
    for rows in (2, 4, 5):
        assert torch.equal(torch.as_tensor(compiled(torch.ones(rows))), torch.full((rows,), 3.0))
    with pytest.raises(ValueError, match="three rows"):
        compiled(torch.ones(3))
    assert torch.equal(torch.as_tensor(compiled(torch.ones(6))), torch.full((6,), 3.0))


def test_under_a_mode() -> None:
    """A mode that redefines operators does not see those of the inner function."""
    compiled = compile(outer)
    for _ in range(2):
        compiled(torch.ones(2, 3))
    with torch.device("meta"):
        assert torch.as_tensor(compiled(torch.ones(2, 3))).device.type == "meta"


def test_relations() -> None:
    """Relations of sizes are no longer checked where functions are called."""
    compiled = compile(lambda x, y: inner(x) + y, dynamic={"x": ("n", 3), "y": ("n", 3)})
    for rows in (2, 2, 4):
        compiled(torch.ones(rows, 3), torch.ones(rows, 3))
    with pytest.raises(ConstraintViolation):
        compiled(torch.ones(2, 3), torch.ones(1, 3))
