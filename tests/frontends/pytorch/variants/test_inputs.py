"""Inputs of a captured graph that Dynamo does not give: they run as the graph was captured."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch.variants.compiled_graph import CompiledGraph


def added(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor]:
    return (x.add_(1) * y,)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("first", ["distinct", "twice"])
def test_a_tensor_that_is_given_twice(backend: str, first: str) -> None:
    """A variant for two tensors is not used for one tensor given twice."""
    graph = CompiledGraph(added, ["x", "y"], added, backend=backend)
    for given in (first, "distinct", "twice", "distinct"):
        x, y = torch.ones(3), torch.ones(3)
        (result,) = graph(x, x) if given == "twice" else graph(x, y)
        assert result.tolist() == [4.0 if given == "twice" else 2.0] * 3
    assert (len(graph.variants), graph.reason) == (1, "")


def test_an_input_that_is_no_tensor_and_no_number() -> None:
    """An input that a variant cannot compare makes no variant."""
    graph = CompiledGraph(torch.mul, ["x", "y"], lambda x, y: (x * len(y),), backend="eager")
    assert [graph(torch.ones(1), text)[0].item() for text in ("a", "bc")] == [1.0, 2.0]
    assert "y: an input of the class str" in graph.reason
    assert graph.variants == []


@pytest.mark.parametrize("written", [False, True])
def test_what_c_and_python_find(written: bool) -> None:
    """C finds a variant for other inputs than Python does."""
    x, y = torch.ones(4, 4), torch.ones(4, 4)
    graph = CompiledGraph(lambda x, y, n: (x.add_(n) if written else x @ y * n,), ["x", "y", "n"], added, backend="cpu")
    graph(x, y, 3)
    found = graph.native.found
    given = [(x, y, 3), (x[:2], y, 3), (x, y[:, :1].contiguous(), 5), (x[:0], y, 3), (x, y.double(), 3), (x, x, 3)]
    given += [(x, y.t(), 3), (x, y, 3.0), (x, y), (x, y[0], 3), (x, y.to("meta"), 3), (x, torch._neg_view(y), 3)]
    for each in [*given, (x, y.clone().requires_grad_(), 3), (x, torch.nn.Parameter(y), 3)]:
        assert (found(each, {}) is NotImplemented) != any(dispatch.lookup(each) for _, dispatch in graph.dispatches)
    with torch.no_grad():
        assert found((x, y, 3), {}) is NotImplemented
