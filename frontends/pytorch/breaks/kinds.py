"""Metadata of a lazy tensor: concrete sizes, strides and offset, dtype and device.

    >>> import torch
    >>> from frontends.pytorch.breaks.kinds import Kind
    >>> kind = Kind(((2, 3), (3, 1), 0, torch.float32, torch.device("cpu")))
    >>> kind.is_packed, kind.on("meta").shape
    (True, torch.Size([2, 3]))
"""

from __future__ import annotations

from typing import TypeAlias

import torch

KindKey: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int, torch.dtype, torch.device]


class Kind:
    """Concrete sizes, strides, offset, dtype and device of a tensor, interned."""

    __slots__ = ("device", "dtype", "exemplar", "key", "offset", "sizes", "strides")

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def __init__(self, key: KindKey) -> None:
        self.key = key
        self.sizes, self.strides, self.offset, self.dtype, self.device = key
        self.exemplar: torch.Tensor | None = None

    @property
    def is_packed(self) -> bool:
        """Whether it is contiguous."""
        wanted = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides)):
            if size != 1 and stride != wanted:
                return False
            wanted *= size
        return True

    def on(self, device: str) -> torch.Tensor:
        """A tensor with this metadata: zeros, or a meta tensor."""
        if self.offset == 0:
            return torch.empty_strided(self.sizes, self.strides, dtype=self.dtype, device=device).zero_()
        needed = self.offset + 1 + sum([(size - 1) * stride for size, stride in zip(self.sizes, self.strides)])
        memory = torch.zeros(max(needed, self.offset + 1), dtype=self.dtype, device=device)
        return memory.as_strided(self.sizes, self.strides, self.offset)
