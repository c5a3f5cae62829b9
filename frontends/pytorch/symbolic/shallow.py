"""Tensors of a subclass without storage: the first with some metadata is constructed, others are shallow copies of it.

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
    """The layout of a tensor; one object for all tensors that have it. Its numbers are torch's, which is Any here."""

    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any
    dtype: torch.dtype
    device: torch.device
    exemplar: torch.Tensor | None


def another(subclass: type[Tensor], kind: Kind) -> Tensor:
    """A tensor with this metadata."""
    exemplar = kind.exemplar
    if exemplar is None:
        # copies of an inference tensor are inference tensors
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
                # on the base class, a copy needs no dispatch
                exemplar = kind.exemplar = _data.__get__(first)
    return torch.Tensor._make_subclass(subclass, exemplar)


def counted(subclass: type[Tensor], tensor: torch.Tensor) -> Tensor:
    """The same with its own version counter: shallow copies share one."""
    with _without_dispatch():
        own = _data.__get__(tensor)
    return torch.Tensor._make_subclass(subclass, own)


def become(tensor: torch.Tensor, other: torch.Tensor) -> None:
    """Change a tensor's metadata in place."""
    with _without_dispatch(), torch._C.DisableTorchFunction():
        _data.__set__(tensor, other)
