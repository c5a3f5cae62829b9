"""Arguments that get another gradient: a graph changes them in place, and its caller goes on to differentiate them.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x.mul_(3).sum())
    >>> leaf = torch.ones(2, requires_grad=True)
    >>> x = leaf * 1
    >>> (f(x) + x.sum()).backward()
    >>> x.tolist(), leaf.grad, [variant.cause for variant in f.variants]
    ([3.0, 3.0], tensor([6., 6.]), ['first call'])

What is compiled changes copies, and gives their last values too, which autograd then copies into the arguments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import signature
from types import FunctionType
from typing import Any, Final

import torch

OF_METADATA: Final = frozenset(("requires_grad_", "detach_", "set_", "as_strided", "retain_grad", "register_hook"))
"""Methods that have another effect on a copy."""
IN_PLACE: Final = frozenset((
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"),
    *("iand", "ior", "ixor", "ilshift", "irshift", "setitem"),
))  # fmt: skip
"""Functions of `operator` that change their first argument."""


def changed_arguments(graph: torch.fx.Graph) -> list[int]:
    """The arguments, by position, that are changed, if any of them has a gradient from then on; none where an output is
    a view of one, which would be one of a copy."""
    given = list(graph.find_nodes(op="placeholder"))
    values = [node.meta.get("example_value") for node in given]
    written = [each for node in graph.nodes if (each := changed_by(node)) is not None]
    memory = set(map(storage_of, written))
    found = [place for place, value in enumerate(values) if is_strided(value) and storage_of(value) in memory]
    learned = [values[place] for place in found if values[place].requires_grad]
    if not learned or any(value.is_leaf for value in learned):
        return []
    returned = [node.meta.get("example_value") for node in results(graph) if isinstance(node, torch.fx.Node)]
    views = [value for value in returned if is_strided(value) and storage_of(value) in memory]
    known = {id(values[place]) for place in found}
    methods = {str(user.target) for place in found for user in given[place].users}
    is_copied = OF_METADATA.isdisjoint(methods) and all(id(value) in known for value in views)
    return found if is_copied else []


def changed_by(node: torch.fx.Node) -> Any:
    """The fake tensor that an operator changes, as its name or option says; None if there is none."""
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    is_in_place = node.op.startswith("call_") and (name.endswith("_") or name in IN_PLACE) and node.args
    if isinstance(node.target, FunctionType) and "inplace" in node.target.__code__.co_varnames:
        is_in_place = signature(node.target).bind(*node.args, **node.kwargs).arguments.get("inplace")
    changed = node.kwargs.get("out", node.args[0] if is_in_place else None)
    value = changed.meta.get("example_value") if isinstance(changed, torch.fx.Node) else None
    return value if is_strided(value) else None


def is_strided(value: object) -> bool:
    is_plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return is_plain and not torch._C._functorch.is_functorch_wrapped_tensor(value)


def results(graph: torch.fx.Graph) -> Sequence[Any]:
    """The outputs of a graph of Dynamo's."""
    found: Sequence[Any] = graph.output_node().args[0]
    return found


def storage_of(value: Any) -> int:
    return int(value.untyped_storage()._cdata)


def with_copies(module: torch.fx.GraphModule, places: Sequence[int]) -> torch.fx.GraphModule:
    """The graph that changes copies of some arguments, which are further outputs."""
    graph = copy.deepcopy(module.graph)
    given = list(graph.find_nodes(op="placeholder"))
    copies = []
    for place in places:
        with graph.inserting_after(given[place]):
            made = graph.call_method("clone", (given[place],))
        given[place].replace_all_uses_with(made, delete_user_cb=lambda user, made=made: user is not made)
        made.meta = dict(given[place].meta)
        copies.append(made)
    graph.output_node().args = ((*results(graph), *copies),)
    return torch.fx.GraphModule(module, graph)


def written_back(
    run: Callable[..., Any], original: torch.fx.GraphModule, places: Sequence[int]
) -> Callable[..., Any]:
    """The original graph by way of the one with copies, unless autograd forbids the change or another argument may see
    it."""
    values = [node.meta.get("example_value") for node in original.graph.find_nodes(op="placeholder")]
    same = {id(values[place]): place for place in places}
    returned = [same.get(id(node.meta.get("example_value"))) for node in results(original.graph)]
    forward = original.forward

    def call(*args: Any) -> Any:
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        is_apart = len({storage_of(each) for each in tensors}) == len(tensors)
        if not is_apart or any(args[place].is_leaf and args[place].requires_grad for place in places):
            return forward(*args)
        given = [each.clone() if place in places else each for place, each in enumerate(args)]
        outputs = None
        with suppress(Exception):
            outputs = run(*given)
        if outputs is None:
            # with the changes before the error
            return forward(*args)
        for place, value in zip(places, outputs[-len(places) :]):
            args[place].copy_(value)
        return [args[place] if place is not None else value for place, value in zip(returned, outputs)]

    return call
