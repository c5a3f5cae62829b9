"""Tensors of a subclass without elements: the first of a kind is laid out, each other one is a shallow copy of it.

>>> import torch
>>> from types import SimpleNamespace
>>> from frontends.pytorch.symbolic.shallow import another, become
>>> class Empty(torch.Tensor):
...     @classmethod
...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
...         raise NotImplementedError
>>> def kind(*sizes):
...     like = torch.empty(sizes)
...     return SimpleNamespace(
...         sizes=sizes, strides=like.stride(), offset=0, dtype=like.dtype, device=like.device, exemplar=None
...     )
>>> one, other = another(Empty, kind(2, 3)), another(Empty, kind(4))
>>> become(one, other)
>>> type(one).__name__, one.shape
('Empty', torch.Size([4]))
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

import torch

_data: Final = torch.Tensor.data
_without_dispatch: Final = torch._C._DisableTorchDispatch
Tensor = TypeVar("Tensor", bound=torch.Tensor)


class Kind(Protocol):
    """How a tensor lies; one object for all tensors of that kind. Its numbers are torch's, which is Any here."""

    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any
    dtype: torch.dtype
    device: torch.device
    exemplar: torch.Tensor | None


def another(subclass: type[Tensor], kind: Kind) -> Tensor:
    """A tensor of a kind."""
    exemplar = kind.exemplar
    if exemplar is None:
        # a copy of what was made in inference mode serves nowhere else
        with torch._C._InferenceMode(False):
            first = torch.Tensor._make_wrapper_subclass(
                subclass,
                kind.sizes,
                strides=kind.strides,
                storage_offset=kind.offset,
                dtype=kind.dtype,
                device=kind.device,
            )
            with _without_dispatch():
                # without the class, a copy costs no dispatch
                exemplar = kind.exemplar = _data.__get__(first)
    return torch.Tensor._make_subclass(subclass, exemplar)


def counted(subclass: type[Tensor], tensor: torch.Tensor) -> Tensor:
    """The same as a tensor whose writes are counted by themselves: copies of one tensor count together."""
    with _without_dispatch():
        own = _data.__get__(tensor)
    return torch.Tensor._make_subclass(subclass, own)


def become(tensor: torch.Tensor, other: torch.Tensor) -> None:
    """Give a tensor the kind of another one in place."""
    with _without_dispatch():
        _data.__set__(tensor, other)


__all__ = ["Kind", "another", "become", "counted"]
