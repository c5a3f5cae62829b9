"""Lowering of views to index maps. Views of memory are found by their metadata (`writer`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from backends.loops.affine import Affine
from backends.loops.nodes import Memory, Number, Sizes
from backends.loops.operations import DTYPES
from backends.loops.values import Value
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, Size, lowering
from solver.terms.expr import Expr

aten: Final = torch.ops.aten


def viewed(x: Value, sizes: Sizes, places: Sequence[Affine]) -> Value:
    """A view with these sizes; `places` are the indices for each axis of x."""
    return Value(x.build, x.build.view(x.tensor, sizes, places), sizes)


@lowering(aten.alias.default, aten.detach.default, aten.lift_fresh.default, views=True)
def same(at: Site, x: Value) -> Value:
    return x


@lowering(aten.permute.default, aten.permute_copy.default, aten.transpose.int, aten.transpose_copy.int, views=True)
@lowering(aten.t.default, aten.t_copy.default, views=True)
def permute(at: Site, x: Value, order: list[int] | int = 0, other: int = -1) -> Value:
    """Lower another order of axes, all of them or two that are exchanged."""
    axes = list(range(x.rank))
    if isinstance(order, list):
        axes = [axis % x.rank for axis in order]
    elif axes:
        axes[order], axes[other] = axes[other], axes[order]
    tensor = x.tensor if isinstance(x.tensor, Number) else x.build.permute(x.tensor, axes)
    return Value(x.build, tensor, tuple([x.sizes[axis] for axis in axes]))


@lowering(aten.expand.default, aten.expand_copy.default, views=True)
def expand(at: Site, x: Value, sizes: object, *, implicit: bool = False) -> Value:
    return x.expanded(at.sizes)


@lowering(aten.unsqueeze.default, aten.unsqueeze_copy.default, views=True)
def unsqueeze(at: Site, x: Value, axis: int) -> Value:
    return x.unsqueezed([axis % (x.rank + 1)])


@lowering(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, views=True)
def squeeze(at: Site, x: Value, axes: int | list[int] | None = None) -> Value:
    listed = list(range(x.rank)) if axes is None else axes if isinstance(axes, list) else [axes]
    gone = [axis % x.rank for axis in listed if x.rank]
    gone = [axis for axis in gone if x.build.decisions.is_one(x.sizes[axis])]
    if x.rank - len(gone) != len(at.sizes):
        raise Declined
    tensor = x.tensor if isinstance(x.tensor, Number) else x.build.squeeze(x.tensor, gone)
    return Value(x.build, tensor, at.sizes)


@lowering(aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default, views=True)
@lowering(aten.reshape.default, aten.view_copy.default, aten._reshape_copy.default, views=True)
def view(at: Site, x: Value, *sizes: object) -> Value:
    return reshaped(x, at.sizes)


def reshaped(x: Value, sizes: Sizes) -> Value:
    """The same elements in order with other sizes."""
    made = x.build.reshape(x.tensor, sizes)
    if made is None or not (isinstance(made, Memory | Number) or x.dtype in DTYPES):
        raise Declined
    return Value(x.build, made, sizes)


@lowering(aten.slice.Tensor, aten.slice_copy.Tensor, views=True)
def slice_(
    at: Site, x: Value, axis: int = 0, start: Size | None = None, end: object = None, step: int = 1, *,
    sizes: Sizes | None = None,
) -> Value:  # fmt: skip
    axis %= x.rank
    return sliced(at, x, axis, first_of(at, x.sizes[axis], start), step, at.sizes if sizes is None else sizes)


def sliced(at: Site, x: Value, axis: int, start: Expr, step: int, sizes: Sizes) -> Value:
    if type(step) is not int:
        raise Declined
    places = list(x.build.axes(x.rank))
    places[axis] = places[axis] * x.build.lift(step) + Affine.of(start)
    return viewed(x, sizes, places)


def first_of(at: Site, size: Expr, start: Size | None) -> Expr:
    """The start of a nonempty slice: negative ones count from the end, clamped to 0."""
    terms = at.build.interner
    if start is None:
        return at.build.zero
    start = at.size(start)
    is_from_front = at.is_nonnegative(start, "as it is", "counted from the end where it is less")
    if is_from_front:
        return start
    behind = start + size
    is_inside = at.is_nonnegative(behind, "as it is", "0 where it is less")
    behind = behind if is_inside else terms.maximum(behind, 0)
    return behind if is_from_front is False else terms.ite(terms.ge(start, 0), start, behind)


@lowering(aten.select.int, aten.select_copy.int, views=True)
def select(at: Site, x: Value, axis: int, place: Size, *, sizes: object = None) -> Value:
    axis %= x.rank
    return selected(x, axis, first_of(at, x.sizes[axis], place))


def selected(x: Value, axis: int, place: Expr) -> Value:
    sizes = (*x.sizes[:axis], *x.sizes[axis + 1 :])
    tensor = x.tensor if isinstance(x.tensor, Number) else x.build.select(x.tensor, axis, place)
    return Value(x.build, tensor, sizes)


@lowering(aten.split.Tensor, aten.split_copy.Tensor, aten.split_with_sizes.default, views=True)
@lowering(aten.split_with_sizes_copy.default, aten.unsafe_split.Tensor, views=True)
@lowering(aten.unsafe_split_with_sizes.default, views=True)
def split(at: Site, x: Value, sizes: object, axis: int = 0) -> Lowered:
    axis %= x.rank
    pieces: list[Value | None] = []
    start = at.build.zero
    for kind in at.kinds:
        if kind is None:
            raise Declined
        piece = at.sizes_of(kind)
        pieces.append(sliced(at, x, axis, start, 1, piece))
        start = start + piece[axis]
    return pieces


@lowering(aten.unbind.int, aten.unbind_copy.int, views=True)
def unbind(at: Site, x: Value, axis: int = 0) -> Lowered:
    return [selected(x, axis % x.rank, at.build.lift(place)) for place in range(len(at.kinds))]


@lowering(aten.flip.default)
def flip(at: Site, x: Value, axes: list[int]) -> Value:
    places = list(x.build.axes(x.rank))
    for axis in {axis % x.rank for axis in axes} if x.rank else ():
        places[axis] = places[axis] * x.build.lift(-1) + Affine.of(x.sizes[axis] - 1)
    return viewed(x, at.sizes, places)
