"""Inverses of views: the base tensor after a write through a view of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import torch

from frontends.pytorch.recording.operations import Argument
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten

Pieces: TypeAlias = Sequence[Sequence[object]]
Inverse = Callable[[Result, Result, list[Argument], Pieces, Metadata], tuple[object, tuple[Argument, ...]]]
INVERSES: Final[dict[object, Inverse]] = {}
"""For each view: a function from the base's old value, the view's new value, the view's arguments and the sizes of the
pieces up to this one, to the base's new value."""


def inverse(*targets: object) -> Callable[[Inverse], Inverse]:
    def register(function: Inverse) -> Inverse:
        for target in targets:
            INVERSES[target] = function
        return function

    return register


@inverse(aten.alias.default, aten.detach.default)
def _same(before, value, rest, pieces, metadata):
    return aten.alias.default, (value,)


@inverse(aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default, aten.unsqueeze.default)
@inverse(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
def _reshaped(before, value, rest, pieces, metadata):
    sizes = [size if isinstance(size, int) else size.node for size in metadata.sizes]
    return aten.reshape.default, (value, sizes)


@inverse(aten.t.default)
def _t(before, value, rest, pieces, metadata):
    return aten.t.default, (value,)


@inverse(aten.transpose.int)
def _transposed(before, value, rest, pieces, metadata):
    return aten.transpose.int, (value, *rest)


@inverse(aten.permute.default)
def _permuted(before, value, rest, pieces, metadata):
    order = [axis % len(rest[0]) for axis in rest[0]]
    return aten.permute.default, (value, [order.index(axis) for axis in range(len(order))])


@inverse(aten.slice.Tensor)
def _sliced(before, value, rest, pieces, metadata):
    return aten.slice_scatter.default, (before, value, *rest)


@inverse(aten.select.int)
def _selected(before, value, rest, pieces, metadata):
    return aten.select_scatter.default, (before, value, *rest)


@inverse(aten.unbind.int)
def _unbound(before, value, rest, pieces, metadata):
    return aten.select_scatter.default, (before, value, rest[0] if rest else 0, len(pieces) - 1)


@inverse(aten.diagonal.default)
def _diagonal(before, value, rest, pieces, metadata):
    return aten.diagonal_scatter.default, (before, value, *rest)


@inverse(aten.as_strided.default)
def _strided(before, value, rest, pieces, metadata):
    return aten.as_strided_scatter.default, (before, value, *rest)


@inverse(aten.split.Tensor, aten.split_with_sizes.default)
def _split(before, value, rest, pieces, metadata):
    """Replace one piece between those before and after it."""
    axis = rest[1] if len(rest) > 1 else 0
    start: object = 0
    for sizes in pieces[:-1]:
        start = start + sizes[axis]
    end = start + pieces[-1][axis]
    return aten.slice_scatter.default, (before, value, axis, _number(start), _number(end))


def _number(size: object) -> Argument:
    return size if isinstance(size, int) else size.node
