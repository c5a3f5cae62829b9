"""What is known of a tensor while a program is traced: sizes, strides, offset, dtype and device, each kind once.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.metadata import Kinds
    >>> from frontends.pytorch.node import Nodes
    >>> env = ShapeEnv(origin=lambda: None)
    >>> nodes = Nodes(env)
    >>> kinds = Kinds(nodes)
    >>> b, s = [nodes.wrap(size) for size in env.sizes("b s", hints=(4, 128))]
    >>> first = kinds.of((b, s), (s, 1), 0, torch.float32, torch.device("cpu"))
    >>> first is kinds.of((b, s), (s, 1), 0, torch.float32, torch.device("cpu"))
    True
    >>> first
    float32[b, s]

Two tensors with the same sizes (as expressions), strides, dtype and device share one `Metadata`, so that it can be
looked up by identity. Making a tensor with symbolic sizes asks torch's C++ some eighty questions; making another like
it is a shallow copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.node import Nodes, TorchValue

Key = tuple[object, ...]


class Metadata:
    """A kind of tensor. `sizes` and the like are as torch takes them, the numbers in `key` as nodes."""

    __slots__ = ("device", "dtype", "exemplar", "key", "meta", "offset", "sizes", "strides")

    def __init__(
        self,
        key: Key,
        sizes: tuple[TorchValue, ...],
        strides: tuple[TorchValue, ...],
        offset: TorchValue,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.key = key
        self.sizes = sizes
        self.strides = strides
        self.offset = offset
        self.dtype = dtype
        self.device = device
        self.exemplar: torch.Tensor | None = None
        """A tensor of this kind, of which others are copies."""
        self.meta: torch.Tensor | None = None
        """A tensor of this kind on the meta device, for torch's own meta functions."""

    def on_meta(self) -> torch.Tensor:
        """A tensor of this kind without elements to compute with."""
        if self.meta is None:
            self.meta = self.fresh_on_meta()
        return self.meta

    def fresh_on_meta(self) -> torch.Tensor:
        """The same, but one of its own, for operators that change what they are given."""
        if self.offset == 0:
            return torch.empty_strided(self.sizes, self.strides, dtype=self.dtype, device="meta")
        base = torch.empty((), dtype=self.dtype, device="meta")
        return base.as_strided(self.sizes, self.strides, self.offset)

    def __repr__(self) -> str:
        sizes = ", ".join([str(size) for size in self.sizes])
        return f"{str(self.dtype).removeprefix('torch.')}[{sizes}]"


class Kinds:
    """All kinds of tensors of one trace."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes: Final = nodes
        self._found: dict[Key, Metadata] = {}

    def of(
        self,
        sizes: Sequence[TorchValue],
        strides: Sequence[TorchValue],
        offset: TorchValue,
        dtype: torch.dtype,
        device: torch.device,
    ) -> Metadata:
        key = (
            *[size if type(size) is int else size.node for size in sizes],
            None,
            *[stride if type(stride) is int else stride.node for stride in strides],
            offset if type(offset) is int else offset.node,
            dtype,
            device,
        )
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Metadata(key, tuple(sizes), tuple(strides), offset, dtype, device)
        return found

    def of_tensor(self, tensor: torch.Tensor, device: torch.device) -> Metadata:
        """The kind of a tensor on the meta device, as it would be on this one."""
        return self.of(
            [plain(size) for size in tensor.size()],
            [plain(stride) for stride in tensor.stride()],
            plain(tensor.storage_offset()),
            tensor.dtype,
            device,
        )

    def packed(self, sizes: Sequence[TorchValue], dtype: torch.dtype, device: torch.device) -> Metadata:
        """The kind of a fresh tensor, the last axis innermost."""
        strides: list[TorchValue] = [1] * len(sizes)
        stride: TorchValue = 1
        for axis in range(len(sizes) - 1, 0, -1):
            stride = stride * at_least_one(sizes[axis])
            strides[axis - 1] = stride
        return self.of(sizes, strides, 0, dtype, device)


def plain(number: TorchValue) -> TorchValue:
    """A symbolic number of a single value as that value, another as its node's own."""
    return number if type(number) is int else number.node.outside


def at_least_one(size: TorchValue) -> TorchValue:
    """`max(size, 1)`, as strides count an axis without elements."""
    return max(size, 1) if type(size) is int else torch.sym_max(size, 1)
