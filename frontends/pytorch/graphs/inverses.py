"""Inverses of views: the base tensor after a write through a view of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
def _same(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.alias.default, (value,)


@inverse(aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default, aten.unsqueeze.default)
@inverse(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
def _reshaped(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    sizes = [size if isinstance(size, int) else size.node for size in metadata.sizes]
    return aten.reshape.default, (value, sizes)


@inverse(aten.t.default)
def _t(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.t.default, (value,)


@inverse(aten.transpose.int)
def _transposed(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.transpose.int, (value, *rest)


@inverse(aten.permute.default)
def _permuted(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    order = [axis % len(rest[0]) for axis in rest[0]]
    return aten.permute.default, (value, [order.index(axis) for axis in range(len(order))])


@inverse(aten.slice.Tensor)
def _sliced(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.slice_scatter.default, (before, value, *rest)


@inverse(aten.select.int)
def _selected(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.select_scatter.default, (before, value, *rest)


@inverse(aten.unbind.int)
def _unbound(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.select_scatter.default, (before, value, rest[0] if rest else 0, len(pieces) - 1)


@inverse(aten.diagonal.default)
def _diagonal(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.diagonal_scatter.default, (before, value, *rest)


@inverse(aten.as_strided.default)
def _strided(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Form:
    return aten.as_strided_scatter.default, (before, value, *rest)


@inverse(aten.split.Tensor, aten.split_with_sizes.default)
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
