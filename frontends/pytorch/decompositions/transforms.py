"""Fourier transforms of arguments that are padded or truncated first.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.fft.fft(x, n=4), (torch.ones(3, 5),))
    >>> variant.guards, tuple(variant.graph(torch.ones(2, 1))[0].shape)
    ((), (2, 4))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite
from frontends.pytorch.meta_rules.layouts import is_packed
from frontends.pytorch.meta_rules.registry import metadata_of
from frontends.pytorch.symbolic.tensor import current_trace

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


def resized(self: Tensor, sizes: Sequence[int | torch.SymInt], dims: Sequence[int]) -> Tensor:
    """A tensor truncated or zero-padded along some axes.

    Both are applied, and one has no effect, so no size is branched on. A non-contiguous tensor has another layout after
    padding than after truncation: there sizes decide.
    """
    if not is_packed(metadata_of(current_trace(), self)):
        return self
    pads: list[int | torch.SymInt] = [0] * (2 * self.dim())
    for size, dim in zip(sizes, dims):
        axis = dim % self.dim()
        if type(size) is int and size == -1:
            continue
        self = aten.slice(self, axis, 0, size)
        pads[2 * (self.dim() - 1 - axis) + 1] = size - self.shape[axis]
    return self if all(type(pad) is int and pad == 0 for pad in pads) else aten.constant_pad_nd(self, pads)


def transform(operator: torch._ops.OpOverload, *, of_many: bool, halved: bool) -> None:
    """A transform that resizes its argument first; the rest is torch's.

    `halved`: the given size is the result's, and the argument's last axis is half as long.
    """
    (default,) = [argument.default_value for argument in operator._schema.arguments if argument.name == "dim"]

    def needed(size: int | torch.SymInt, last: bool) -> int | torch.SymInt:
        return size if not (halved and last) or (type(size) is int and size == -1) else size // 2 + 1

    def one(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> object:
        if n is not None and self.dim():
            self = resized(self, [needed(n, True)], [dim])
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, n, dim, norm)

    def many(
        self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = default, norm: str | None = None
    ) -> object:
        if s is not None and len(s) <= self.dim() and (dim is None or len(dim) == len(s)):
            dims = range(self.dim() - len(s), self.dim()) if dim is None else dim
            sizes = [needed(size, place == len(s) - 1) for place, size in enumerate(s)]
            if all(type(size) is not int or size == -1 or size >= 1 for size in sizes):
                self = resized(self, sizes, dims)
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, s, dim, norm)

    composite(operator)(many if of_many else one)


for word in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft"):
    for ending in ("", "2", "n"):
        transform(getattr(aten, f"fft_{word}{ending}").default, of_many=bool(ending), halved=word in ("irfft", "hfft"))
