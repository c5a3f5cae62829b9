"""Conditionals of a graph: what is between them is compiled, and so is each branch; Python runs the one that is taken.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x * 2,)) + 1, fullgraph=True)
    >>> f(torch.zeros(2)), [len(each.variants) for each in f.graphs]
    (tensor([2., 2.]), [3])

Dynamo has read both branches, under facts of their own. Those that the program does not take are not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.fx.passes.utils.fuser_utils import erase_nodes, fuse_as_graphmodule, insert_subgm

from frontends.pytorch.dynamo.graph_function import function_of

CONDITIONAL: Final = torch.ops.higher_order.cond


def has_conditionals(graph: torch.fx.Graph) -> bool:
    """Return True if a graph takes one of two branches."""
    return bool(graph.find_nodes(op="call_function", target=CONDITIONAL))


def at_conditionals(
    module: torch.fx.GraphModule, compiled: Callable[[torch.fx.GraphModule], Callable[..., Any]]
) -> Callable[..., Any]:
    """A graph with conditionals as a function: `compiled` makes what runs its parts and branches."""
    whole = torch.fx.GraphModule(module, torch.fx.Graph())
    given: dict[torch.fx.Node, torch.fx.Node] = {}
    whole.graph.output(whole.graph.graph_copy(module.graph, given))
    for name, inner in module.named_children():
        whole.add_submodule(name, inner)
    conditionals = whole.graph.find_nodes(op="call_function", target=CONDITIONAL)
    branches = {branch for each in conditionals for branch in each.args[1:3]}
    parts: list[list[torch.fx.Node]] = [[]]
    for node in whole.graph.nodes:
        if node in branches or node.op in ("placeholder", "output"):
            continue
        is_outside = any(each in conditionals for each in (node, *node.args[:1]))
        if node.op == "get_attr" or (node.meta.get("example_value") is not None and not is_outside):
            parts[-1].append(node)
        else:
            # a mode of torch's is entered or left in Python, as is a branch
            parts.append([])
    names = {str(branch.target) for branch in branches}
    for place, part in enumerate(parts):
        if any(node.op != "get_attr" for node in part):
            name = f"part_{place}"
            inner, inputs, outputs = fuse_as_graphmodule(whole, part, name, always_return_tuple=True)
            insert_subgm(whole, inner, inputs, outputs, part[-1])
            erase_nodes(whole, part)
            names.add(name)
    for name in names:
        inner = whole.get_submodule(name)
        delattr(whole, name)
        setattr(whole, name, compiled(inner))
    return function_of(whole.graph, whole)
