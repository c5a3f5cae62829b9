"""Symbolic tensor metadata, interned: sizes, strides, offset, dtype and device.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.metadata import Kinds
    >>> from frontends.pytorch.symbolic.node import Nodes
    >>> env = ShapeEnv(origin=lambda: None)
    >>> nodes = Nodes(env)
    >>> kinds = Kinds(nodes)
    >>> b, s = [nodes.wrap(size) for size in env.sizes("b s", hints=(4, 128))]
    >>> first = kinds.of((b, s), (s, 1), 0, torch.float32, torch.device("cpu"))
    >>> first is kinds.of((b, s), (s, 1), 0, torch.float32, torch.device("cpu"))
    True
    >>> first
    float32[b, s]

Tensors with the same sizes (as expressions), strides, dtype and device share one `Metadata`, which is compared by
identity. Constructing a tensor with symbolic sizes costs about eighty queries from torch's C++; another tensor with the
same metadata is a shallow copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import torch

from frontends.pytorch.symbolic.node import Node, Nodes, TorchValue, value_of
from shapes.environment.layout import contiguous_strides
from shapes.rules import Shape
from shapes.symbolic.choices import Int

Key = tuple[Any, ...]
Numbers = Sequence[int | Node]


@dataclass(slots=True, eq=False, repr=False)
class Metadata:
    """The metadata of a tensor. `sizes` etc. are torch's numbers; `key` has them as nodes."""

    key: Key
    sizes: tuple[TorchValue, ...]
    strides: tuple[TorchValue, ...]
    offset: TorchValue
    dtype: torch.dtype
    device: torch.device
    exemplar: torch.Tensor | None = None
    """A tensor of this kind, of which others are copies."""
    meta: torch.Tensor | None = None
    """A tensor of this kind on the meta device, for torch's own meta functions."""
    offset_read: bool = False
    """True if the program has read the storage offset of a tensor of this kind."""
    _shape: Shape | None = None

    @property
    def shape(self) -> Shape:
        """Sizes, strides and offset in the form of the shape rules."""
        found = self._shape
        if found is None:
            found = self._shape = Shape(
                [value_of(size) for size in self.sizes],
                dtype=name_of(self.dtype),
                strides=[value_of(stride) for stride in self.strides],
                storage_offset=value_of(self.offset),
            )
        return found

    def on_meta(self) -> torch.Tensor:
        """A meta tensor with this metadata."""
        if self.meta is None:
            self.meta = self.fresh_on_meta()
        return self.meta

    def fresh_on_meta(self) -> torch.Tensor:
        """A new meta tensor, for operators that mutate their argument."""
        if type(self.offset) is int and self.offset == 0:
            return torch.empty_strided(self.sizes, self.strides, dtype=self.dtype, device="meta")
        base = torch.empty((), dtype=self.dtype, device="meta")
        return base.as_strided(self.sizes, self.strides, self.offset)

    def __repr__(self) -> str:
        sizes = ", ".join([str(size) for size in self.sizes])
        return f"{name_of(self.dtype)}[{sizes}]"


@dataclass(frozen=True, slots=True)
class Template:
    """The predicted result of an operator: metadata, the index of a returned argument, None, or a list or tuple of
    these.

    `once`: another call with the same metadata may have another result.
    """

    output: object
    once: bool = False


class Kinds:
    """The interned metadata of one trace."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes: Final = nodes
        self._found: dict[Key, Metadata] = {}
        self._packed: dict[tuple[int | Node, ...], tuple[int | Node, ...]] = {}
        """The strides of a fresh tensor by its sizes."""

    def of(
        self,
        sizes: Sequence[TorchValue],
        strides: Sequence[TorchValue],
        offset: TorchValue,
        dtype: torch.dtype,
        device: torch.device,
    ) -> Metadata:
        """The metadata with these sizes of torch's."""
        outer, steps, (start,) = [
            [number if type(number) is int else inside(number.node) for number in numbers]
            for numbers in (sizes, strides, (offset,))
        ]
        return self._interned(outer, steps, start, dtype, device)

    def _interned(self, sizes: Numbers, strides: Numbers, offset: Any, dtype: Any, device: Any) -> Metadata:
        key = (*sizes, None, *strides, offset, dtype, device)
        found = self._found.get(key)
        if found is None:
            lengths, steps = tuple(map(outside, sizes)), tuple(map(outside, strides))
            found = self._found[key] = Metadata(key, lengths, steps, outside(offset), dtype, device)
        return found

    def let_go_of_tensors(self) -> None:
        """Release tensors at the end of the trace: references from C++ to numbers are invisible to the garbage
        collector."""
        for kind in self._found.values():
            kind.exemplar = kind.meta = None

    @property
    def offset_read(self) -> bool:
        """True if the program has read a storage offset."""
        return any(kind.offset_read for kind in self._found.values())

    def of_tensor(self, tensor: torch.Tensor, device: torch.device) -> Metadata:
        """The metadata of a meta tensor, with another device."""
        return self.of(tensor.size(), tensor.stride(), tensor.storage_offset(), tensor.dtype, device)

    def packed(self, sizes: Sequence[TorchValue], dtype: torch.dtype, device: torch.device) -> Metadata:
        """The metadata of a new contiguous tensor."""
        return self.laid([value_of(size) for size in sizes], None, 0, dtype, device)

    def laid(
        self,
        sizes: Sequence[Int],
        strides: Sequence[Int] | None,
        offset: Int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> Metadata:
        """The metadata with these sizes from a shape rule; contiguous without strides."""
        outer = tuple([size if type(size) is int else self._number(size) for size in sizes])
        steps = self._packed.get(outer) if strides is None else None
        if steps is None:
            given = contiguous_strides(sizes) if strides is None else strides
            steps = tuple([stride if type(stride) is int else self._number(stride) for stride in given])
            if strides is None:
                self._packed[outer] = steps
        start = offset if type(offset) is int else self._number(offset)
        return self._interned(outer, steps, start, dtype, device)

    def _number(self, value: Int) -> int | Node:
        """A number for a key: a constant expression is its value."""
        return inside(self.nodes.node(value))


def inside(node: Node) -> int | Node:
    """A number for a key: a constant is its value."""
    return node.value if node.is_plain else node


def outside(number: int | Node) -> TorchValue:
    """Convert a number of a key to torch's."""
    return number if isinstance(number, int) else number.outside


@cache
def name_of(dtype: torch.dtype) -> str:
    """The name of a dtype in shape rules."""
    return str(dtype).removeprefix("torch.")
