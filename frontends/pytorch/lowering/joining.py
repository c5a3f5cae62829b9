"""Lowering of concatenation, padding, slice assignment and indexing by tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch

from backends.loops.affine import Affine, is_zero
from backends.loops.nodes import Gather, Sizes, Tensor
from backends.loops.operations import DTYPES
from backends.loops.value_ranges import is_inside
from backends.loops.values import Value
from frontends.pytorch.graphs.partition import FEW_PIECES
from frontends.pytorch.lowering.registry import Argument, Declined, Site, Size, lowering
from frontends.pytorch.lowering.views import first_of, select, slice_, sliced
from solver.terms.expr import Expr

aten: Final = torch.ops.aten


@lowering(aten.cat.default)
def cat(at: Site, tensors: list[Value], axis: int = 0) -> Value:
    """Lower concatenation; empty tensors of rank 1 are ignored, as in torch."""
    rank = len(at.sizes)
    axis %= rank
    pieces = [x for x in tensors if x.rank == rank]
    if any(x.rank != 1 or not is_zero(x.sizes[0]) for x in tensors if x.rank != rank):
        raise Declined
    start = at.build.zero
    bounds: list[Expr] = []
    for piece in pieces[:-1]:
        start = start + piece.sizes[axis]
        bounds.append(start)
    if len(pieces) <= FEW_PIECES:
        return _joined(at, pieces, axis, bounds)
    whole = at.new()
    for piece, start in zip(pieces, [at.build.zero, *bounds]):
        at.assign(sliced(at, whole, axis, start, 1, _with(at.sizes, axis, piece.sizes[axis])), piece)
    return whole


def _joined(at: Site, pieces: list[Value], axis: int, bounds: list[Expr]) -> Value:
    """Concatenated pieces; the bounds determine the length of constants."""
    tensors = [piece.cast(at.dtype).tensor for piece in pieces]
    if len(tensors) == 1:
        return Value(at.build, tensors[0], at.sizes)
    return Value(at.build, at.build.concat(tensors, axis, tuple(bounds), at.sizes), at.sizes)


def _with(sizes: tuple[Expr, ...], axis: int, size: Expr) -> tuple[Expr, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


@lowering(aten.constant_pad_nd.default)
def constant_pad_nd(at: Site, x: Value, pad: list[Size], value: Argument = 0) -> Value:
    """Lower constant padding; negative padding removes elements, as in the gradient of padding."""
    widths = [at.size(each) for each in pad]
    around, made = at.operand(value), x.cast(at.dtype)
    for place in range(len(pad) // 2):
        axis = x.rank - 1 - place
        before, after = widths[2 * place : 2 * place + 2]
        if all(at.is_nonnegative(each, "elements around it", "no elements around it") for each in (before, after)):
            made = _within(at, around, made, axis, before, at.sizes[axis])
        elif all(at.is_nonnegative(-each, "elements taken away", "the operator of torch") for each in (before, after)):
            made = sliced(at, made, axis, -before, 1, _with(made.sizes, axis, at.sizes[axis]))
        else:
            raise Declined
    return made


def _within(at: Site, around: Value, x: Value, axis: int, start: Expr, size: Expr) -> Value:
    """Extend an axis: x between two parts of another tensor."""
    end = start + x.sizes[axis]
    tensors = [around.tensor, x.tensor, around.tensor]
    bounds: Sizes = (start, end)
    first, last = is_zero(start), end is size
    sizes = _with(x.sizes, axis, size)
    if first and last:
        return x
    tensors, bounds = tensors[first : 3 - last], bounds[first : 2 - last]
    return Value(at.build, at.build.concat(tensors, axis, bounds, sizes), sizes)


PARTS: Final[dict[object, Callable[..., Value]]] = {
    aten.slice_scatter.default: slice_,
    aten.select_scatter.default: select,
    aten.slice_backward.default: slice_,
}
"""The views that these operators write to."""


@lowering(aten.slice_scatter.default, aten.select_scatter.default)
def scatter(at: Site, x: Value, source: Value, *place: object) -> Value:
    """Put a tensor in the place of a view."""
    whole = at.new()
    at.assign(whole, x)
    at.assign(PARTS[at.operation.target](at, whole, *place, sizes=source.sizes), source)
    return whole


@lowering(aten.slice_backward.default)
def slice_backward(at: Site, grad: Value, sizes: object, axis: int, start: Size, end: object, step: int) -> Value:
    if step != 1:
        return scatter(at, at.full(0), grad, axis, start, end, step)
    axis %= len(at.sizes)
    first = first_of(at, at.sizes[axis], start)
    return _within(at, at.full(0), grad.cast(at.dtype), axis, first, at.sizes[axis])


@lowering(aten.roll.default)
def roll(at: Site, x: Value, shifts: list[Size], axes: list[int] | None = None) -> Value:
    """Lower `roll`: concatenate two slices along each axis."""
    if not axes:
        raise Declined
    terms = at.build.interner
    for axis, shift in zip([axis % x.rank for axis in axes], shifts):
        size = x.sizes[axis]
        front = terms.mod(at.size(shift), terms.maximum(size, 1))
        pieces = [
            sliced(at, x, axis, start, 1, _with(x.sizes, axis, length))
            for start, length in ((size - front, front), (at.build.zero, size - front))
        ]
        x = _joined(at, pieces, axis, [front])
    return x


# ---------------------------------------------------------------------- indexing


@lowering(aten.gather.default)
def gather(at: Site, x: Value, axis: int, index: Value, *, sparse_grad: bool = False) -> Value:
    """Lower `gather`: along the other axes, each element keeps its index."""
    if not x.rank or index.dtype != "int64" or x.dtype not in DTYPES:
        raise Declined
    axis %= x.rank
    places = tuple([index.tensor if each == axis else at.build.axis(each) for each in range(x.rank)])
    if is_inside(at.build, index.tensor, x.sizes[axis]):
        return x.gather(places, index.sizes)
    inside = (index >= 0) & (index < x.sizes[axis])
    at.require(inside, RuntimeError, f"an index is out of bounds for dimension {axis}")
    return x.gather(places, index.sizes, inside)


@lowering(aten._unsafe_index.Tensor)
def unsafe_index(at: Site, x: Value, indices: list[Value | None]) -> Value:
    """Lower advanced indexing: the broadcast axes of the indices replace the indexed axes.

    The operator's caller guarantees that indices are in bounds; nothing outside is read in any case.
    """
    given = [axis for axis, index in enumerate(indices) if index is not None]
    if not given or given != list(range(given[0], given[-1] + 1)):
        raise Declined
    if any(index is not None and index.dtype not in ("int64", "int32") for index in indices):
        raise Declined
    source = at.memory(at.operation.args[0])
    first, behind = given[0], given[-1] + 1
    count = len(at.sizes) - (x.rank - len(given))
    places: list[Affine | Tensor] = []
    for axis in range(x.rank):
        index = indices[axis] if axis < len(indices) else None
        if index is None:
            places.append(at.build.axis(axis if axis < first else axis - behind + first + count))
        else:
            index = index.cast("int64")
            if not at.is_part:
                # those of a decomposition are never negative
                index = (index < 0).select(index + x.sizes[axis], index).apply("maximum", 0)
            index = index.apply("minimum", x.sizes[axis] - 1)
            sizes = at.sizes[first : first + count]
            broadcast = index.expanded(sizes).unsqueezed(range(count, count + x.rank - behind))
            places.append(broadcast.expanded(at.sizes).tensor)
    return Value(at.build, Gather(at.sizes, x.dtype, source, tuple(places)), at.sizes)
