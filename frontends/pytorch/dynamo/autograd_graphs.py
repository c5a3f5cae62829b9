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
from typing import Any, Final

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
)
from torch.utils._pytree import tree_leaves

from frontends.pytorch.dynamo.graph_function import as_captured
from frontends.pytorch.dynamo.higher_order import graphs_in
from frontends.pytorch.dynamo.unread_inputs import around_unread
from frontends.pytorch.dynamo.view_results import without_views

WATCHING: Final = "torch._functorch._aot_autograd.runtime_wrappers"
"""The module of the mode under which AOTAutograd makes the first call of a graph."""


def has_subclasses(module: torch.fx.GraphModule) -> bool:
    """Return True if a graph is given wrapper subclasses, or makes some."""
    values = [node.meta.get("example_value") for each in graphs_in(module) for node in each.graph.nodes]
    tensors = [leaf for value in values for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    return any(map(is_traceable_wrapper_subclass, tensors))


def by_autograd(
    module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    compiled: Callable[[torch.fx.GraphModule], Callable[..., Any]],
    left: Callable[[Exception], None],
) -> Callable[..., Any]:
    """Compile a graph through AOTAutograd: `compiled` compiles the resulting graphs; `left` receives the error if the
    graph runs operator by operator instead."""

    def boxed(inner: torch.fx.GraphModule, given: Sequence[Any]) -> Callable[..., Any]:
        run: Callable[..., Any] = make_boxed_func(unobserved(around_unread(inner, compiled)))
        return run

    def differentiated(inner: torch.fx.GraphModule, places: Sequence[int]) -> Callable[..., Any]:
        run: Callable[..., Any] = aot_autograd(fw_compiler=boxed, bw_compiler=boxed)(
            inner, [inputs[place] for place in places]
        )
        return run

    run = without_views(module, differentiated)
    return checked(run or differentiated(module, range(len(inputs))), as_captured(module), left)


def checked(
    run: Callable[..., Any], operators: Callable[..., Any], left: Callable[[Exception], None]
) -> Callable[..., Any]:
    """A graph of AOTAutograd whose first call is a test: AOTAutograd makes some that raise an internal error."""
    tested: Callable[..., Any] | None = None

    def call(*args: Any) -> Any:
        nonlocal tested
        if tested is not None:
            return tested(*args)
        random = torch.get_rng_state()
        try:
            result, tested = run(*args), run
        except Exception as error:
            torch.set_rng_state(random)
            # if the program raises too, that is the result
            result, tested = operators(*args), operators
            left(error)
        return result

    return call


def unobserved(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs without torch's modes that watch a compiled graph: AOTAutograd has one for the first call.
    They change no operator, but a trace is refused under any mode."""

    def call(*args: Any) -> Any:
        if torch._C._len_torch_dispatch_stack() and all(map(only_watches, _get_current_dispatch_mode_stack())):
            with _disable_current_modes():
                return run(*args)
        return run(*args)

    return call


def only_watches(mode: object) -> bool:
    """Return True for a mode by which AOTAutograd only watches a call."""
    return type(mode).__module__ == WATCHING
