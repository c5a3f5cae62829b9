"""Inverses of views: the base tensor after a write through a view of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import torch

from frontends.pytorch.recording.operations import Argument, Target
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten

Rest: TypeAlias = list[Argument]
Pieces: TypeAlias = Sequence[Sequence[TorchValue]]
Form: TypeAlias = tuple[Target, tuple[Argument, ...]]
Inverse: TypeAlias = Callable[[Result, Result, Rest, Pieces, Metadata], Form]


def _with(target: Target) -> Inverse:
    """The inverse of a permutation that this operator gives for the view's own arguments."""
    return lambda before, value, rest, pieces, metadata: (target, (value, *rest))


def _into(target: Target) -> Inverse:
    """An operator that replaces the view's elements in the old value."""
    return lambda before, value, rest, pieces, metadata: (target, (before, value, *rest))


def _reshaped(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.reshape.default, (value, [_number(size) for size in metadata.sizes])


def _permuted(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    order = [axis % len(rest[0]) for axis in rest[0]]
    return aten.permute.default, (value, [order.index(axis) for axis in range(len(order))])


def _unbound(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.select_scatter.default, (before, value, rest[0] if rest else 0, len(pieces) - 1)


def _split(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    """Replace one piece between those before and after it."""
    axis = rest[1] if len(rest) > 1 else 0
    start: TorchValue = 0
    for sizes in pieces[:-1]:
        start = start + sizes[axis]
    end = start + pieces[-1][axis]
    return aten.slice_scatter.default, (before, value, axis, _number(start), _number(end))


def _number(size: TorchValue) -> Argument:
    return size if isinstance(size, int) else size.node


INVERSES: Final[Mapping[object, Inverse]] = {
    **dict.fromkeys((aten.alias.default, aten.detach.default), _with(aten.alias.default)),
    **dict.fromkeys((aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default), _reshaped),
    **dict.fromkeys((aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.unsqueeze.default), _reshaped),
    aten.t.default: _with(aten.t.default),
    aten.transpose.int: _with(aten.transpose.int),
    aten.permute.default: _permuted,
    aten.slice.Tensor: _into(aten.slice_scatter.default),
    aten.select.int: _into(aten.select_scatter.default),
    aten.diagonal.default: _into(aten.diagonal_scatter.default),
    aten.as_strided.default: _into(aten.as_strided_scatter.default),
    aten.unbind.int: _unbound,
    **dict.fromkeys((aten.split.Tensor, aten.split_with_sizes.default), _split),
}
"""For each view: a function from the base's old value, the view's new value, the view's arguments and the sizes of the
pieces up to this one, to the base's new value."""
