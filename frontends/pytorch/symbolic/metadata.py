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

Two tensors with the same sizes (as expressions), strides, dtype and device share one `Metadata`, so that it can be
looked up by identity. Making a tensor with symbolic sizes asks torch's C++ some eighty questions; making another like
it is a shallow copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch

from frontends.pytorch.symbolic.node import Node, Nodes, TorchValue, value_of
from shapes.environment.layout import contiguous_strides
from shapes.rules import Shape
from shapes.symbolic.choices import Int

Key = tuple[object, ...]
NAMES: Final[dict[torch.dtype, str]] = {}


class Metadata:
    """A kind of tensor. `sizes` and the like are as torch takes them, the numbers in `key` as nodes."""

    __slots__ = (
        "_shape",
        "device",
        "dtype",
        "exemplar",
        "key",
        "meta",
        "offset",
        "offset_read",
        "order",
        "packed",
        "sizes",
        "strides",
    )

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
        self.order: object = None
        """How its axes lie, once that has been worked out (`frontends.pytorch.meta_rules.layouts`)."""
        self.packed = False
        """Whether it is known to lie as a fresh tensor, whatever the sizes."""
        self._shape: Shape | None = None
        self.offset_read = False
        """Whether the program has asked where such a tensor begins."""

    @property
    def shape(self) -> Shape:
        """Sizes, strides and offset as the rules for sizes take them."""
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
        """A tensor of this kind without elements to compute with."""
        if self.meta is None:
            self.meta = self.fresh_on_meta()
        return self.meta

    def fresh_on_meta(self) -> torch.Tensor:
        """The same, but one of its own, for operators that change what they are given."""
        if type(self.offset) is int and self.offset == 0:
            return torch.empty_strided(self.sizes, self.strides, dtype=self.dtype, device="meta")
        base = torch.empty((), dtype=self.dtype, device="meta")
        return base.as_strided(self.sizes, self.strides, self.offset)

    def __repr__(self) -> str:
        sizes = ", ".join([str(size) for size in self.sizes])
        return f"{str(self.dtype).removeprefix('torch.')}[{sizes}]"


@dataclass(frozen=True, slots=True)
class Template:
    """What an operator gives: a kind, the place of an argument that is given back, None, or a list or tuple of these.

    `once` says that another call with the same kinds may give something else; `renames` are the places of arguments
    that the operator makes tensors of another kind, as `t_` and `resize_` do. `inferred` is the rule by which it is
    known, where that was found by running the operator.
    """

    output: object
    once: bool = False
    renames: tuple[tuple[int, Metadata], ...] = ()
    inferred: str = ""


class Kinds:
    """All kinds of tensors of one trace."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes: Final = nodes
        self._found: dict[Key, Metadata] = {}
        self._packed: dict[tuple[int | Node, ...], tuple[int | Node, ...]] = {}
        """By the sizes of a fresh tensor, its strides."""

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

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A stretch in which no kind of before is used, so that nothing learned in it is remembered of one."""
        outside, self._found = self._found, {}
        packed, self._packed = self._packed, {}
        try:
            yield
        finally:
            inside, self._found = self._found, outside
            self._packed = packed
            for key, kind in inside.items():
                if kind.offset_read and key in outside:
                    outside[key].offset_read = True

    def let_go_of_tensors(self) -> None:
        """When the trace has ended: what refers to numbers from C++ the collector of garbage would not see through."""
        for kind in self._found.values():
            kind.exemplar = kind.meta = None

    @property
    def offset_read(self) -> bool:
        """Whether the program has asked where some tensor begins."""
        return any(kind.offset_read for kind in self._found.values())

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
        return self.laid([value_of(size) for size in sizes], None, 0, dtype, device)

    def laid(
        self,
        sizes: Sequence[Int],
        strides: Sequence[Int] | None,
        offset: Int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> Metadata:
        """The kind with these sizes, as rules give them; without strides, that of a fresh tensor."""
        outer = tuple([size if type(size) is int else self._number(size) for size in sizes])
        steps = self._packed.get(outer) if strides is None else None
        if steps is None:
            lies = contiguous_strides(sizes) if strides is None else strides
            steps = tuple([stride if type(stride) is int else self._number(stride) for stride in lies])
            if strides is None:
                self._packed[outer] = steps
        start = offset if type(offset) is int else self._number(offset)
        key = (*outer, None, *steps, start, dtype, device)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Metadata(
                key,
                tuple([outside(size) for size in outer]),
                tuple([outside(stride) for stride in steps]),
                outside(start),
                dtype,
                device,
            )
        return found

    def _number(self, value: Int) -> int | Node:
        """A number as it is in a key: one of a single value is that value."""
        node = self.nodes.node(value)
        return node.value if node.is_plain else node

    def like(
        self, metadata: Metadata, dtype: torch.dtype | None = None, device: torch.device | None = None
    ) -> Metadata:
        """The kind of a fresh tensor that lies as this one does."""
        dtype = metadata.dtype if dtype is None else dtype
        device = metadata.device if device is None else device
        start = metadata.offset
        if dtype is metadata.dtype and device == metadata.device and type(start) is int and start == 0:
            return metadata
        start = 0
        key = (*metadata.key[:-3], start, dtype, device)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Metadata(key, metadata.sizes, metadata.strides, start, dtype, device)
        return found


def outside(number: int | Node) -> TorchValue:
    """A number of a key as torch takes it."""
    return number if isinstance(number, int) else number.outside


def name_of(dtype: torch.dtype) -> str:
    """The name of a dtype as the rules for sizes know it."""
    found = NAMES.get(dtype)
    if found is None:
        found = NAMES[dtype] = str(dtype).removeprefix("torch.")
    return found


def plain(number: TorchValue) -> TorchValue:
    """A symbolic number of a single value as that value, another as its node's own."""
    return number if type(number) is int else number.node.outside
