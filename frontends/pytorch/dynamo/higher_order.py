"""Dynamo's higher-order operators as the functions of torch that a program calls.

    >>> import torch
    >>> from frontends.pytorch.dynamo.higher_order import plain
    >>> double, half = lambda x: (x * 2,), lambda x: (x / 2,)
    >>> plain(torch.ops.higher_order.cond)(torch.tensor(True), double, half, (torch.ones(2),))
    (tensor([2., 2.]),)

The operands of such a node are subgraphs. Other operators are called unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.utils.checkpoint import checkpoint

from frontends.pytorch.recording.randomness import checkpointed


def taken(
    predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any], operands: Sequence[Any] = ()
) -> Any:
    """The branch of a conditional that is taken."""
    return (then if predicate else otherwise)(*operands)


def invoked(graph: Callable[..., Any], name: str, *operands: Any) -> Any:
    """A region that is compiled once and called several times."""
    return graph(*operands)


def applied(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    *given: Any,
    non_differentiable_idx: Sequence[int] = (),
    saved_for_backward_idx: Sequence[int] = (),
    dirty_idx: Sequence[int] = (),
) -> Any:
    """A custom `autograd.Function`, whose forward returns the results and the saved values."""

    class Applied(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            returned, saved = forward(*args)
            outputs = returned if isinstance(returned, tuple | list) else (returned,)
            watched = [value if place in saved_for_backward_idx else None for place, value in enumerate(saved)]
            ctx.save_for_backward(*watched)
            ctx.others = [None if place in saved_for_backward_idx else value for place, value in enumerate(saved)]
            ctx.mark_dirty(*[outputs[place] for place in dirty_idx])
            ctx.mark_non_differentiable(*[outputs[place] for place in non_differentiable_idx])
            return returned

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            watched = ctx.saved_tensors
            saved = [
                watched[place] if place in saved_for_backward_idx else value for place, value in enumerate(ctx.others)
            ]
            return backward(*gradients, *saved)

    return Applied.apply(*given)


def mapped(body: Callable[..., Any], rows: Sequence[Any], others: Sequence[Any]) -> Any:
    """A function of each row, at once; one that draws random numbers is refused."""
    axes = (*[0] * len(rows), *[None] * len(others))
    results = torch.vmap(body, axes)(*rows, *others)
    return tuple([result.contiguous() for result in results])


def effected(token: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """An operator with a side effect, such as an error, and its token."""
    results = call(*args, **kwargs)
    return (token, *results) if isinstance(results, tuple) else (token, results)


PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "autograd_function_apply": applied,
    "cond": taken,
    "invoke_subgraph": invoked,
    "map_impl": mapped,
    "with_effects": effected,
}


def with_checkpoints(module: torch.fx.GraphModule) -> None:
    """Call torch's checkpoint function in a graph: Dynamo's operator draws other random numbers during recomputation,
    unless a compiler decomposes it."""
    for each in graphs_in(module):
        for node in each.graph.find_nodes(op="call_function", target=torch.ops.higher_order.tag_activation_checkpoint):
            node.target = checkpoint
            node.kwargs = {**node.kwargs, "use_reentrant": False}


def graphs_in(module: torch.fx.GraphModule) -> list[torch.fx.GraphModule]:
    """A graph and its subgraphs."""
    return [each for each in module.modules() if isinstance(each, torch.fx.GraphModule)]


def given_to(
    module: torch.fx.GraphModule, user: torch.fx.Node, node: torch.fx.Node
) -> tuple[torch.fx.GraphModule, list[torch.fx.Node]] | None:
    """The subgraph of a checkpoint or region with a node as operand, and the node's placeholder in it.

    None for other users.
    """
    if user.target is checkpoint:
        graph, *operands = user.args
    elif user.target is torch.ops.higher_order.invoke_subgraph:
        graph, _, *operands = user.args
    else:
        return None
    inner = module.get_submodule(str(graph.target))
    given = inner.graph.find_nodes(op="placeholder")
    return inner, [place for place, value in zip(given, operands) if value is node]


def plain(target: Callable[..., Any]) -> Callable[..., Any]:
    """The public function for Dynamo's `target`."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return PLAIN.get(target.name(), target)
    return checkpointed if target is checkpoint else target
