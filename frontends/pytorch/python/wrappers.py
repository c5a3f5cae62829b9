"""Wrapper subclasses as arguments and results: a graph takes and returns their inner tensors.

    >>> import torch
    >>> from frontends.pytorch.python.wrappers import opened
    >>> opened((torch.ones(2), {"a": 3}))                                # nothing to unwrap
    (tensor([1., 1.]), {'a': 3})

A traceable wrapper subclass (`__tensor_flatten__`, `__tensor_unflatten__`) becomes a pytree node whose children are its
inner tensors: they have symbolic sizes, and the class's `__torch_dispatch__` runs during the trace. Its other
attributes are part of the pytree's structure, which is guarded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import register_pytree_node, tree_leaves, tree_map

from frontends.pytorch.errors import Unsupported
from frontends.pytorch.python.fields import Fields, held_by, objects_in
from frontends.pytorch.symbolic.node import same


class Opened:
    """A wrapper subclass in a pytree."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


class Lengths:
    """A `torch.Size` in a pytree, which torch's pytree would convert to a tuple."""

    def __init__(self, sizes: torch.Size) -> None:
        self.sizes = sizes


def opened(tree: Any) -> Any:
    """Convert a pytree of arguments or results such that wrapper subclasses and objects with tensors are nodes, and
    sizes stay sizes."""
    objects = objects_in(tree)
    if not objects and not any(map(is_node, tree_leaves(tree, is_leaf=is_sizes))):
        return tree

    def as_node(value: Any) -> object:
        if id(value) in objects:
            return Fields(value, tree_map(as_node, held_by(value)[0], is_leaf=is_sizes))
        return Lengths(value) if is_sizes(value) else Opened(value) if is_node(value) else value

    return tree_map(as_node, tree, is_leaf=is_sizes)


def is_sizes(value: object) -> bool:
    """Whether a value is a `torch.Size`."""
    return type(value) is torch.Size


def is_node(value: object) -> bool:
    """Whether a value is a node of ours."""
    return is_sizes(value) or (isinstance(value, torch.Tensor) and is_traceable_wrapper_subclass(value))


def apart(tensor: Any) -> tuple[list[Any], object]:
    """The inner tensors and the remaining state: None if no inner tensor has its sizes."""
    names, context = tensor.__tensor_flatten__()
    inner = [getattr(tensor, name) for name in names]
    shaped = next((place for place, each in enumerate(inner) if _alike(each, tensor)), None)
    if shaped is None:
        return inner, None
    return inner, (type(tensor), tuple(names), context, shaped, tensor.requires_grad)


def _taken_apart(node: Opened) -> tuple[list[object], object]:
    tensor = node.tensor
    kind = type(tensor).__qualname__
    inner, structure = apart(tensor)
    if structure is None:
        raise Unsupported(
            f"a {kind}, none of whose inner tensors has its sizes {tuple(tensor.shape)}: pass its tensors, and make it"
            " inside of the function"
        )
    if tensor.requires_grad and torch.is_grad_enabled():
        raise Unsupported(f"a {kind} that has a gradient: its inner tensors, which the graph has, have none")
    return [opened(each) for each in inner], structure


def _put_together(leaves: Iterable[Any], structure: Any) -> torch.Tensor:
    kind, names, context, shaped, _ = structure
    inner = list(leaves)
    like = inner[shaped]
    return kind.__tensor_unflatten__(dict(zip(names, inner)), context, like.size(), like.stride())


def _alike(inner: torch.Tensor, outer: torch.Tensor) -> bool:
    """Whether an inner tensor has the wrapper's sizes and strides."""
    numbers = zip((*inner.shape, *inner.stride()), (*outer.shape, *outer.stride()))
    return inner.dim() == outer.dim() and all(same(one, other) for one, other in numbers)


register_pytree_node(Opened, _taken_apart, _put_together, serialized_type_name="symshape.opened")


register_pytree_node(
    Lengths,
    lambda node: (list(node.sizes), None),
    lambda leaves, _: torch.Size(leaves),
    serialized_type_name="symshape.lengths",
)


def is_foreign(types: Iterable[type]) -> bool:
    """Whether a wrapper subclass must dispatch an operator first."""
    return any(hasattr(kind, "__tensor_flatten__") for kind in types)
