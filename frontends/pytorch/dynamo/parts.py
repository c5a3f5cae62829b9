"""Graphs in parts: what is between conditionals and recurrent layers that learn is compiled, and so is each branch;
Python runs the branch that is taken, and torch the layer, whose gradient is autograd's.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x * 2,)) + 1, fullgraph=True)
    >>> f(torch.zeros(2)), [len(each.variants) for each in f.graphs]
    (tensor([2., 2.]), [3])

Dynamo has read both branches, under facts of their own. Those that the program does not take are not compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Final

import torch
from torch.fx.passes.utils.fuser_utils import erase_nodes, fuse_as_graphmodule, insert_subgm
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from frontends.pytorch.dynamo.changed_arguments import changed_by, is_strided, storage_of
from frontends.pytorch.dynamo.graph_function import function_of

CONDITIONAL: Final = torch.ops.higher_order.cond
LAYERS: Final = (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)


def between_parts(module: torch.fx.GraphModule) -> dict[torch.fx.Node, tuple[torch.fx.Node, ...]]:
    """The calls between the compiled parts of a graph, each with the graphs that it calls: conditionals, trained
    recurrent layers, and checkpoints with such layers."""
    found: dict[torch.fx.Node, tuple[torch.fx.Node, ...]] = {}
    for node in module.graph.nodes:
        if node.target is CONDITIONAL:
            found[node] = node.args[1:3]
        elif node.target is checkpoint and between_parts(module.get_submodule(str(node.args[0].target))):
            found[node] = node.args[:1]
        elif node.target in LAYERS and node.meta["example_value"][0].requires_grad:
            found[node] = ()
    if is_one_piece(module.graph, found):
        return {node: graphs for node, graphs in found.items() if node.target is CONDITIONAL}
    return found


def is_one_piece(graph: torch.fx.Graph, calls: Container[torch.fx.Node]) -> bool:
    """Return True if a graph transforms functions, computes gradients, or changes what a part may have saved."""
    for node in graph.nodes:
        tensors = [each for each in tensors_at(node) if torch._C._functorch.is_functorch_wrapped_tensor(each)]
        if tensors or node.target is torch.autograd.grad:
            return True
    return changes_saved(graph, calls)


def changes_saved(graph: torch.fx.Graph, calls: Container[torch.fx.Node]) -> bool:
    """Return True if a graph changes memory that it used before a call, or that a conditional got or made: a part may
    have saved it for its backward, where eager torch saves something else."""
    used: set[int] = set()
    before: set[int] = set()
    for node in graph.nodes:
        changed = changed_by(node)
        if changed is not None and storage_of(changed) in before:
            return True
        if node in calls:
            before |= used
        held = [storage_of(tensor) for tensor in tensors_at(node) if is_strided(tensor)]
        used.update(held)
        if node.target is CONDITIONAL:
            before.update(held)
    return False


def changes_after_branch(graph: torch.fx.Graph) -> bool:
    """Return True if a graph that records gradients changes memory that a branch before may have saved."""
    branches = graph.find_nodes(op="call_function", target=CONDITIONAL)
    learns = any(each.requires_grad for node in graph.nodes for each in tensors_at(node))
    return bool(branches) and learns and changes_saved(graph, branches)


def tensors_at(node: torch.fx.Node) -> list[torch.Tensor]:
    """The tensor operands and results of an operator."""
    values = [each.meta.get("example_value") for each in (*node.all_input_nodes, node) if node.op != "placeholder"]
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


def in_parts(
    module: torch.fx.GraphModule, compiled: Callable[[torch.fx.GraphModule], Callable[..., Any]]
) -> Callable[..., Any]:
    """A graph with such calls as a function: `compiled` compiles its parts and the called graphs."""
    whole = copied(module)
    calls = between_parts(whole)
    branches = dict.fromkeys(branch for each in calls.values() for branch in each)
    parts: list[list[torch.fx.Node]] = [[]]
    has_modes = False
    for node in whole.graph.nodes:
        if node in branches or node.op in ("placeholder", "output"):
            continue
        is_outside = any(each in calls for each in (node, *node.args[:1]) if isinstance(each, torch.fx.Node))
        if node.op == "get_attr" or (node.meta.get("example_value") is not None and not is_outside):
            parts[-1].append(node)
        else:
            # a mode of torch's is entered or left in Python, as is a branch
            has_modes |= not is_outside
            parts.append([])
    names = [str(branch.target) for branch in branches]
    for place, part in enumerate(parts):
        read = [each.meta.get("example_value") for node in part for each in node.all_input_nodes]
        if any(isinstance(value, torch.Tensor) for value in read):
            name = f"part_{place}"
            separated(whole, part, name)
            names.append(name)
    for name in dict.fromkeys(names):
        replaced(whole, name, compiled(whole.get_submodule(name)))
    if has_modes or branches:
        return function_of(whole.graph, whole)
    # torch's generated code is faster
    whole.recompile()
    return whole.forward


def copied(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy of a graph over the same attributes."""
    whole = torch.fx.GraphModule(module, torch.fx.Graph())
    whole.graph.output(whole.graph.graph_copy(module.graph, {}))
    for name, inner in module.named_children():
        whole.add_submodule(name, inner)
    return whole


def separated(
    whole: torch.fx.GraphModule, part: list[torch.fx.Node], name: str
) -> tuple[torch.fx.GraphModule, tuple[torch.fx.Node, ...]]:
    """Make nodes of a graph a graph of their own, a submodule of this name; returns it and the nodes of its inputs."""
    inner, inputs, outputs = fuse_as_graphmodule(whole, part, name, always_return_tuple=True)
    insert_subgm(whole, inner, inputs, outputs, part[-1])
    erase_nodes(whole, part)
    return inner, inputs


def replaced(whole: torch.fx.GraphModule, name: str, call: Callable[..., Any]) -> None:
    """Make a graph call a function in the place of a submodule."""
    delattr(whole, name)
    setattr(whole, name, call)
