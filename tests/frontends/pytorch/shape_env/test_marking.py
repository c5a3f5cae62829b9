"""Marks, relations and policies: facts from the moment a symbol is created."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

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


def test_torchs_own_mark_keeps_its_bounds() -> None:
    """The engine knows the bounds of `torch._dynamo.mark_dynamic(min=, max=)`."""
    graphs = Graphs()
    x = torch.ones(5)
    torch._dynamo.mark_dynamic(x, 0, min=4, max=16)
    with installed():
        torch.compile(lambda x: x + 1 if x.shape[0] >= 4 else x, backend=graphs)(x)
    (environment,) = graphs.environments
    assert (environment.engine.bounds("x_size0"), guards(environment)) == ((4, 16), [])


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
