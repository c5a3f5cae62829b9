"""Graphs that go through AOTAutograd: their inputs are wrapper subclasses, whose operators are those of inner tensors.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> rows = torch.nested.nested_tensor([torch.ones(2, 3), -torch.ones(1, 3)], layout=torch.jagged)
    >>> f = compile(lambda x: (x * 2).relu(), backend="cpu")
    >>> [each.sum().item() for each in f(rows).unbind()], len(f.graphs), f.fallbacks
    ([12.0, 0.0], 1, [])

AOTAutograd takes the subclasses apart, differentiates, and hands over graphs of ATen operators on plain tensors, which
are compiled as any other graph. Inputs that no operator reads go around the compiled graph: AOTAutograd returns the
offsets of a ragged tensor with its values, and passes the size of a ragged axis beside them. That size is a nested
integer, no number: two are equal if they are of one tensor of offsets. The offsets are given to a backward several
times, as those of each gradient.

AOTAutograd makes a view of an argument again when the graph has run, by `as_strided` where sizes are symbols. A
DTensor has no such operator: memory is that of each rank's shard. Here the operators from the last tensor that is no
view, an argument or a result of the graph, to the view are run as they stand in the program. So the view is one for
autograd too: what is written to it later is written to its base.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._higher_order_ops.effects import with_effects
from torch.fx.experimental.sym_node import SymNode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
)
from torch.utils._pytree import tree_leaves

from frontends.pytorch.dynamo.changed_arguments import changed_by
from frontends.pytorch.dynamo.graph_function import as_captured, graphs_in
from frontends.pytorch.dynamo.parts import copied, replaced, separated
from frontends.pytorch.errors import unsupported

WATCHING: Final = "torch._functorch._aot_autograd.runtime_wrappers"
"""The module of the mode under which AOTAutograd makes the first call of a graph."""
SIZES: Final = frozenset(("size", "dim", "numel", "getitem", "add", "sub", "mul", "floordiv", "mod", "neg"))
"""Functions of sizes."""
READ_LENGTHS: Final = "read the lengths off `offsets()`"


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
        modes = _get_current_dispatch_mode_stack() if torch._C._len_torch_dispatch_stack() else ()
        if modes and all(type(mode).__module__ == WATCHING for mode in modes):
            with _disable_current_modes():
                return run(*args)
        return run(*args)

    return call


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


# ---------------------------------------------------------------------- views of sharded tensors


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
