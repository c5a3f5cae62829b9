"""Results that are views of sharded tensors: the graph is compiled without them, and torch makes them of its results.

    >>> from frontends.pytorch.dynamo.view_results import VIEWS
    >>> [name in VIEWS for name in ("transpose", "transpose_")]
    [True, False]

AOTAutograd makes a view of an argument again when the graph has run, by `as_strided` where sizes are symbols. A
DTensor has no such operator: memory is that of each rank's shard. Here the operators from the last tensor that is no
view, an argument or a result of the graph, to the view are run as they stand in the program. So the view is one for
autograd too: what is written to it later is written to its base.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

VIEWS: Final = frozenset((
    "T", "H", "mT", "mH", "adjoint", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "chunk", "contiguous",
    "detach", "diagonal", "dsplit", "expand", "expand_as", "flatten", "getitem", "hsplit", "imag", "matrix_transpose",
    "moveaxis", "movedim", "narrow", "permute", "positive", "ravel", "real", "reshape", "reshape_as", "resolve_conj",
    "resolve_neg", "select", "split", "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "tensor_split",
    "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view", "view_as", "view_as_complex", "view_as_real",
    "vsplit", "__getitem__",
))  # fmt: skip
"""Operators by name that make a view, or else a tensor of its own, and change nothing."""
SIZES: Final = frozenset(("size", "dim", "numel", "getitem", "add", "sub", "mul", "floordiv", "mod", "neg"))
"""Functions of sizes."""


def sharded_class() -> type[torch.Tensor] | None:
    """The class of DTensors; None if it is not loaded."""
    found: type[torch.Tensor] | None = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return found


def without_views(
    module: torch.fx.GraphModule,
) -> tuple[torch.fx.GraphModule, Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]] | None:
    """A graph without those of its results that are views of sharded tensors, and a function of its arguments and its
    results that gives the results of the whole; None if there are no such views."""
    outputs = list(module.graph.output_node().args[0])
    if any(node.op == "call_function" and is_mode(node) for node in module.graph.nodes):
        return None
    steps = dict[torch.fx.Node, None]()
    views = [place for place, node in enumerate(outputs) if isinstance(node, torch.fx.Node) and is_view(node, steps)]
    if not views:
        return None
    inputs = module.graph.find_nodes(op="placeholder")
    kept = list(dict.fromkeys(node for place, node in enumerate(outputs) if place not in views))
    known = [node for node in kept if isinstance(node, torch.fx.Node)]
    needed = [node for step in steps for node in step.all_input_nodes if node not in steps and node not in inputs]
    results = list(dict.fromkeys([*known, *needed]))
    return graph_of(module, inputs, results), finishing(module, inputs, results, steps, outputs)


def is_mode(node: torch.fx.Node) -> bool:
    """Return True for a node that changes a mode of torch, such as that of gradients."""
    name = getattr(node.target, "__name__", "")
    return name.startswith(("_set_", "_enter_", "_exit_", "set_"))


def is_view(node: torch.fx.Node, steps: dict[torch.fx.Node, None]) -> bool:
    """Return True for a view that AOTAutograd would make again; adds the nodes that make it to `steps`, in order."""
    found = dict[torch.fx.Node, None]()
    place = node
    while (base := base_of(place)) is not None:
        found[place] = None
        place = base
    value = node.meta.get("example_value")
    is_again = place.op == "placeholder" or bool(getattr(value, "requires_grad", False))
    if not found or not is_again:
        return False
    for step in reversed(found):
        for each in step.all_input_nodes:
            add_sizes(each, steps)
        steps[step] = None
    return True


def base_of(node: torch.fx.Node) -> torch.fx.Node | None:
    """The tensor that a node is a view of; None if it is none."""
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    if node.op == "call_function" and node.target is getattr:
        name = node.args[1]
    base = node.args[0] if node.args else None
    if str(name).removeprefix("linalg_") not in VIEWS or not isinstance(base, torch.fx.Node) or "out" in node.kwargs:
        return None
    mine, its = memory(node), memory(base)
    return base if mine and mine == its else None


def memory(node: torch.fx.Node) -> set[StorageWeakRef]:
    """The memory of the sharded tensors that a node makes; empty if it makes others, or of several."""
    kind = sharded_class()
    leaves = [each for each in tree_leaves(node.meta.get("example_value")) if isinstance(each, torch.Tensor)]
    if kind is None or not all(isinstance(each, kind) for each in leaves):
        return set()
    found = {StorageWeakRef(each._local_tensor.untyped_storage()) for each in leaves}
    return found if len(found) == 1 else set()


def add_sizes(node: torch.fx.Node, steps: dict[torch.fx.Node, None]) -> None:
    """Add a node that computes a size, after those that it reads."""
    if node in steps or not is_size(node):
        return
    for each in node.all_input_nodes:
        add_sizes(each, steps)
    steps[node] = None


def is_size(node: torch.fx.Node) -> bool:
    """Return True for a node that computes sizes from an argument, or from others that do."""
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    values = tree_leaves(node.meta.get("example_value"))
    return (
        node.op in ("call_method", "call_function")
        and name in SIZES
        and all(isinstance(value, int | torch.SymInt | torch.Size) for value in values)
        and all(each.op == "placeholder" or is_size(each) for each in node.all_input_nodes)
    )


def graph_of(
    module: torch.fx.GraphModule, inputs: Sequence[torch.fx.Node], results: Sequence[torch.fx.Node]
) -> torch.fx.GraphModule:
    """The graph with these results, without views that nothing else reads."""
    made = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    for node in module.graph.nodes:
        if node.op != "output":
            copies[node] = made.node_copy(node, copies.__getitem__)
            if hasattr(node, "_dynamo_source"):
                copies[node]._dynamo_source = node._dynamo_source
    made.output(tuple([copies[node] for node in results]))
    for node, copy in reversed(list(copies.items())):
        if not copy.users and (base_of(node) is not None or is_size(node)):
            made.erase_node(copy)
    found = torch.fx.GraphModule(module, made)
    found.meta.update(module.meta)
    for name in ("_param_name_to_source", "compile_subgraph_reason"):
        if hasattr(module, name):
            setattr(found, name, getattr(module, name))
    return found


def is_empty(module: torch.fx.GraphModule) -> bool:
    """Return True for a graph that computes nothing."""
    return all(node.op in ("placeholder", "get_attr", "output") for node in module.graph.nodes)


def finishing(
    module: torch.fx.GraphModule,
    inputs: Sequence[torch.fx.Node],
    results: Sequence[torch.fx.Node],
    steps: dict[torch.fx.Node, None],
    outputs: Sequence[Any],
) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """The function that makes the views, operator by operator."""
    made = torch.fx.Graph()
    copies = {node: made.placeholder(node.name) for node in (*inputs, *results)}
    for node in steps:
        copies[node] = made.node_copy(node, copies.__getitem__)
    made.output(tuple([copies[each] if isinstance(each, torch.fx.Node) else each for each in outputs]))
    run = torch.fx.GraphModule(module, made).forward
    return lambda args, found: run(*args, *found)
