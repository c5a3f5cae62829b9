"""Inputs of AOTAutograd's graphs that no operator reads: they go around the compiled graph.

    >>> import torch
    >>> from frontends.pytorch.dynamo.unread_inputs import around_unread, is_nested_size
    >>> module = torch.fx.symbolic_trace(lambda x, offsets: (x * 2, offsets))
    >>> f = around_unread(module, lambda inner: inner.forward)
    >>> f(torch.ones(2), torch.tensor([0, 2]))
    (tensor([2., 2.]), tensor([0, 2]))
    >>> rows = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    >>> [is_nested_size(size) for size in rows.shape]
    [False, True, False]

AOTAutograd returns the offsets of a ragged tensor with its values, and passes the size of a ragged axis beside them.
That size is a nested integer, no number: two are equal if they are of one tensor of offsets. The offsets are given to
a backward several times, as those of each gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch._higher_order_ops.effects import with_effects
from torch.fx.experimental.sym_node import SymNode

from frontends.pytorch.dynamo.parts import replaced, separated
from frontends.pytorch.errors import unsupported


def is_nested_size(size: object) -> bool:
    """Return True for the size of a ragged axis, and for a symbol that stands for one."""
    if not isinstance(size, torch.SymInt):
        return False
    if size.node.is_nested_int():
        return True
    hint = size.node._hint if isinstance(size.node, SymNode) else None
    return is_nested_size(hint)


def around_unread(
    module: torch.fx.GraphModule, compiled: Callable[[torch.fx.GraphModule], Callable[..., Any]]
) -> Callable[..., Any]:
    """A graph as a function: `compiled` makes what runs the graph without the inputs that no operator on tensors reads.

    Raises:
        Unsupported: an operator on tensors reads a nested size.
    """
    for node in module.graph.find_nodes(op="call_function", target=with_effects):
        # our graphs keep the order of operators with side effects without tokens
        node.update_arg(0, None)
    outside = unread(module.graph.find_nodes(op="placeholder"))
    part = [node for node in module.graph.nodes if node.op not in ("placeholder", "output") and node not in outside]
    if part:
        separated(module, part, "read")
        run = compiled(module.get_submodule("read"))
        replaced(module, "read", lambda *args: run(*distinct(list(args))))
        module.recompile()
    return module.forward


def distinct(values: list[Any]) -> list[Any]:
    """The values, no tensor twice: the same gradient of two results, or offsets that are those of a gradient too."""
    seen = set[int]()
    for place, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            if id(value) in seen:
                values[place] = value.detach()
            seen.add(id(value))
    return values


def unread(inputs: Sequence[torch.fx.Node]) -> dict[torch.fx.Node, None]:
    """The inputs that are returned or not used at all; nested sizes, and what is computed of them."""
    found = dict.fromkeys([node for node in inputs if all(user.op == "output" for user in node.users)])
    waiting = [node for node in inputs if is_nested_size(node.meta.get("val"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node.meta.get("val"), torch.Tensor):
            unsupported(f"{node.target}: it reads the size of a ragged axis, which is not a number", READ_LENGTHS)
        found[node] = None
        waiting += [user for user in node.users if user.op != "output" and user not in found]
    return found


READ_LENGTHS: Final = "read the lengths off `offsets()`"
