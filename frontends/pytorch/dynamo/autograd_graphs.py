"""Graphs that go through AOTAutograd: their inputs are wrapper subclasses, whose operators are those of inner tensors.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> rows = torch.nested.nested_tensor([torch.ones(2, 3), -torch.ones(1, 3)], layout=torch.jagged)
    >>> f = compile(lambda x: (x * 2).relu(), backend="cpu")
    >>> [each.sum().item() for each in f(rows).unbind()], len(f.graphs), f.fallbacks
    ([12.0, 0.0], 1, [])

AOTAutograd takes the subclasses apart, differentiates, and hands over graphs of ATen operators on plain tensors, which
are compiled as any other graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


def has_subclasses(graph: torch.fx.Graph) -> bool:
    """Return True if a graph has inputs of wrapper subclasses."""
    inputs = [node.meta.get("example_value") for node in graph.find_nodes(op="placeholder")]
    return any(isinstance(value, torch.Tensor) and is_traceable_wrapper_subclass(value) for value in inputs)


def by_autograd(
    module: torch.fx.GraphModule, inputs: Sequence[Any], compiled: Callable[[torch.fx.GraphModule], Callable[..., Any]]
) -> Callable[..., Any]:
    """A graph compiled through AOTAutograd: `compiled` makes what runs the graphs that this leads to."""

    def boxed(inner: torch.fx.GraphModule, given: Sequence[Any]) -> Callable[..., Any]:
        run: Callable[..., Any] = make_boxed_func(compiled(inner))
        return run

    found: Callable[..., Any] = aot_autograd(fw_compiler=boxed, bw_compiler=boxed)(module, inputs)
    return found
