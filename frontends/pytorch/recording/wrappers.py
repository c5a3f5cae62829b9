"""Wrapper subclasses as arguments and results: a graph takes and gives the tensors inside of them.

    >>> import torch
    >>> from frontends.pytorch.recording.wrappers import opened
    >>> opened((torch.ones(2), {"a": 3}))                                # nothing to open
    (tensor([1., 1.]), {'a': 3})

A class that torch can take apart (`__tensor_flatten__`, `__tensor_unflatten__`) becomes a node of the tree of
arguments, whose leaves are its inner tensors: they have symbolic sizes, and the class's own `__torch_dispatch__` runs
while the function is traced. Its other attributes are part of the tree's structure, so a variant is for those alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import register_pytree_node, tree_map_only

from frontends.pytorch.errors import Unsupported


class Opened:
    """A tensor of a wrapper subclass in a tree."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def opened(tree: Any) -> Any:
    """A tree of arguments or results in which the tensors of wrapper subclasses are nodes."""
    return tree_map_only(torch.Tensor, lambda leaf: Opened(leaf) if is_traceable_wrapper_subclass(leaf) else leaf, tree)


def _taken_apart(node: Opened) -> tuple[list[object], object]:
    tensor = node.tensor
    names, context = tensor.__tensor_flatten__()
    inner = [getattr(tensor, name) for name in names]
    whole = next((place for place, each in enumerate(inner) if _alike(each, tensor)), None)
    if whole is None:
        raise Unsupported(
            f"a {type(tensor).__qualname__}, none of whose inner tensors has its sizes {tuple(tensor.shape)}: pass its"
            " tensors, and make it inside of the function"
        )
    return [opened(each) for each in inner], (type(tensor), tuple(names), context, whole)


def _put_together(leaves: Iterable[Any], structure: object) -> torch.Tensor:
    kind, names, context, whole = structure
    inner = list(leaves)
    like = inner[whole]
    return kind.__tensor_unflatten__(dict(zip(names, inner)), context, like.size(), like.stride())


def _alike(inner: torch.Tensor, outer: torch.Tensor) -> bool:
    """Whether an inner tensor has the sizes and strides of the whole."""
    return inner.dim() == outer.dim() and all(
        one is other or (not isinstance(one, torch.SymInt) and not isinstance(other, torch.SymInt) and one == other)
        or (isinstance(one, torch.SymInt) and isinstance(other, torch.SymInt) and one.node is other.node)
        for one, other in zip((*inner.shape, *inner.stride()), (*outer.shape, *outer.stride()))
    )  # fmt: skip


register_pytree_node(Opened, _taken_apart, _put_together, serialized_type_name="symshape.opened")


def is_foreign(types: Iterable[type]) -> bool:
    """Whether an operator is a wrapper subclass's to take first."""
    return any(hasattr(kind, "__tensor_flatten__") for kind in types)


__all__ = ["Opened", "is_foreign", "opened"]
