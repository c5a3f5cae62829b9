"""Results that are views of sharded tensors: the graph is compiled without them, and torch makes them of its results.

    >>> import torch
    >>> from frontends.pytorch.dynamo.view_results import without_views
    >>> without_views(torch.fx.symbolic_trace(lambda x: x.t()), lambda inner, places: inner.forward) is None
    True

AOTAutograd makes a view of an argument again when the graph has run, by `as_strided` where sizes are symbols. A
DTensor has no such operator: memory is that of each rank's shard. Here the operators from the last tensor that is no
view, an argument or a result of the graph, to the view are run as they stand in the program. So the view is one for
autograd too: what is written to it later is written to its base.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from frontends.pytorch.dynamo.changed_arguments import changed_by
from frontends.pytorch.dynamo.parts import copied, replaced, separated

SIZES: Final = frozenset(("size", "dim", "numel", "getitem", "add", "sub", "mul", "floordiv", "mod", "neg"))
"""Functions of sizes."""


def without_views(
    module: torch.fx.GraphModule, compiled: Callable[[torch.fx.GraphModule, list[int]], Callable[..., Any]]
) -> Callable[..., Any] | None:
    """A graph as a function that makes those of its results that are views of sharded tensors. `compiled` makes what
    runs the rest of the graph, given the places of its inputs. None if there are no such views."""
    if any(node.op == "call_function" and is_mode(node) for node in module.graph.nodes):
        return None
    whole = copied(module)
    steps = dict[torch.fx.Node, None]()
    output = whole.graph.output_node()
    views = [node for node in output.all_input_nodes if is_view(node, steps)]
    if not views:
        return None
    again: dict[torch.fx.Node, torch.fx.Node] = {}
    with whole.graph.inserting_before(output):
        for step in steps:
            again[step] = whole.graph.node_copy(step, lambda node: again.get(node, node))
    for view in views:
        view.replace_all_uses_with(again[view], delete_user_cb=lambda user: user is output)
    for step in reversed([node for node in whole.graph.nodes if node in steps]):
        if not step.users:
            whole.graph.erase_node(step)
    inputs = whole.graph.find_nodes(op="placeholder")
    made = (*inputs, output, *again.values())
    part = [node for node in whole.graph.nodes if node not in made]
    if any(node.op != "get_attr" for node in part):
        inner, given = separated(whole, part, "without_views")
        inner.meta.update(module.meta)
        for name in ("_param_name_to_source", "compile_subgraph_reason"):
            if hasattr(module, name):
                setattr(inner, name, getattr(module, name))
        originals = module.graph.find_nodes(op="placeholder")
        places = [inputs.index(node) for node in given]
        for node, place in zip(inner.graph.find_nodes(op="placeholder"), places):
            if hasattr(originals[place], "_dynamo_source"):
                node._dynamo_source = originals[place]._dynamo_source
        replaced(whole, "without_views", compiled(inner, places))
    whole.recompile()
    return whole.forward


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
    """The tensor that a node is a view of; None if it is none, or changes it."""
    is_called = node.op == "call_method" or isinstance(node.target, BuiltinFunctionType | FunctionType)
    base = node.args[0] if is_called and node.args else None
    if not isinstance(base, torch.fx.Node) or changed_by(node) is not None:
        return None
    mine, its = memory(node), memory(base)
    return base if mine and mine == its else None


def memory(node: torch.fx.Node) -> set[StorageWeakRef]:
    """The memory of the sharded tensors that a node makes; empty if it makes others, or of several."""
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
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
