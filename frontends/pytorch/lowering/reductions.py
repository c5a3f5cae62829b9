"""Lowering of reductions: sums, means, extrema, variances, norms, max pooling, losses and their gradients."""

from __future__ import annotations

from itertools import product
from typing import Final

import torch

from backends.loops.affine import Affine
from backends.loops.nodes import GatherIndices
from backends.loops.operations import computed_as
from backends.loops.statistics import moments
from backends.loops.values import Value
from frontends.pytorch.lowering.registry import Declined, Lowered, Number, Site, axes_of, lowering
from solver.terms.expr import Expr

aten: Final = torch.ops.aten


@lowering(aten.sum.dim_IntList, aten.sum.default)
def sum_(at: Site, x: Value, axes: object = None, keepdim: bool = False, *, dtype: object = None) -> Value:
    return x.cast(computed_as(at.dtype)).sum(axes_of(axes, x.rank), keepdim=keepdim)


@lowering(aten.mean.dim, aten.mean.default)
def mean(at: Site, x: Value, axes: object = None, keepdim: bool = False, *, dtype: object = None) -> Value:
    return x.cast(computed_as(at.dtype)).mean(axes_of(axes, x.rank), keepdim=keepdim)


@lowering(aten.prod.default, aten.prod.dim_int)
def prod(at: Site, x: Value, axis: object = None, keepdim: bool = False, *, dtype: object = None) -> Value:
    return x.cast(computed_as(at.dtype)).reduce("product", axes_of(axis, x.rank), keepdim=keepdim)


EXTREMES: Final = {
    **dict.fromkeys((aten.amax.default, aten.max.default, aten.argmax.default, aten.max.dim), "maximum"),
    **dict.fromkeys((aten.amin.default, aten.min.default, aten.argmin.default, aten.min.dim), "minimum"),
}


@lowering(aten.amax.default, aten.amin.default, aten.max.default, aten.min.default)
def extreme(at: Site, x: Value, axes: object = None, keepdim: bool = False) -> Value:
    """Lower a maximum or minimum; over no elements it is an error, as in eager torch."""
    operation = EXTREMES[at.operation.target]
    axes = axes_of(axes, x.rank)
    if not all(_is_positive(at, x.sizes[axis]) for axis in axes):
        raise Declined
    if x.dtype == "bool":
        operation = "any" if operation == "maximum" else "all"
    return x.reduce(operation, axes, keepdim=keepdim)


def _is_positive(at: Site, size: Expr) -> bool:
    return at.is_nonnegative(size - 1) is True


@lowering(aten.max.dim, aten.min.dim)
def extreme_along(at: Site, x: Value, axis: int, keepdim: bool = False) -> Lowered:
    index = extreme_index(at, x, axis, keepdim)
    return [x.computed().reduce(EXTREMES[at.operation.target], (axis % x.rank,), keepdim=keepdim), index]


@lowering(aten.argmax.default, aten.argmin.default)
def extreme_index(at: Site, x: Value, axis: int | None = None, keepdim: bool = False) -> Value:
    """The index of the first extreme element, or of the first nan."""
    operation = EXTREMES[at.operation.target]
    if axis is None or not x.rank or x.dtype == "bool" or not _is_positive(at, x.sizes[axis % x.rank]):
        raise Declined
    axes = (axis % x.rank,)
    x = x.as_stored().computed()
    most = x.reduce(operation, axes, keepdim=True).expanded(x.sizes)
    found = x.equals(most)
    if x.is_float:
        found = found | x.apply("isnan")
    return found.select(at.iota(axes[0], x.sizes), x.sizes[axes[0]]).reduce("minimum", axes, keepdim=keepdim)


@lowering(aten.any.default, aten.any.dim, aten.any.dims, aten.all.default, aten.all.dim, aten.all.dims)
def truth(at: Site, x: Value, axes: object = None, keepdim: bool = False) -> Value:
    return x.cast("bool").reduce(at.name, axes_of(axes, x.rank), keepdim=keepdim)


# ---------------------------------------------------------------------- variance


@lowering(aten.var.correction, aten.std.correction, aten.var_mean.correction, aten.std_mean.correction)
def variance(at: Site, x: Value, axes: object = None, *, correction: object = None, keepdim: bool = False) -> Lowered:
    over, correction = axes_of(axes, x.rank), 1 if correction is None else correction
    if not x.is_float or not isinstance(correction, int | float) or correction != int(correction) or not over:
        raise Declined
    found, average = moments(x, over, int(correction), keepdim=keepdim, normalizes=at.is_part)
    found = found.apply("sqrt") if at.name.startswith("std") else found
    return [found, average] if at.name.endswith("_mean") else found


# ---------------------------------------------------------------------- pooling


LARGEST_WINDOW: Final = 9
"""Larger windows are not unrolled in a kernel."""


@lowering(aten.max_pool2d_with_indices.default)
def max_pool(
    at: Site,
    x: Value,
    kernel: list[Number],
    stride: list[Number] | None = None,
    padding: list[Number] | int = 0,
    dilation: list[Number] | int = 1,
    ceil_mode: bool = False,
) -> list[Value | None]:
    """Lower max pooling with all windows in bounds; the first of equal elements wins, and NaN over all."""
    high, wide = _two(kernel)
    down, right = _two(stride) if stride else (high, wide)
    if ceil_mode or _two(padding) != (0, 0) or _two(dilation) != (1, 1) or high * wide > LARGEST_WINDOW:
        raise Declined
    if not x.is_float:
        raise Declined
    if down < high or right < wide:
        # overlapping windows would recompute their elements
        memory = at.memory(at.operation.args[0])
        x = Value(at.build, memory, memory.sizes)
    rows, columns = len(at.sizes) - 2, len(at.sizes) - 1
    first_row, first_column = at.iota(rows) * down, at.iota(columns) * right
    best = place = None
    for y, z in product(range(high), range(wide)):
        places = list(at.build.axes(rows))
        places += [
            at.build.axis(axis) * at.build.lift(step) + Affine.of(at.build.lift(more))
            for axis, step, more in ((rows, down, y), (columns, right, z))
        ]
        found = Value(at.build, at.build.view(x.tensor, at.sizes, places), at.sizes)
        where = (first_row + y) * x.sizes[columns] + (first_column + z)
        if best is None or place is None:
            best, place = found, where
        else:
            better = (found > best) | found.differs(found)
            best, place = better.select(found, best), better.select(where, place)
    return [best, place]


def _two(numbers: list[Number] | int) -> tuple[int, int]:
    """The values for rows and columns; a single number stands for both."""
    given = list(numbers) if isinstance(numbers, list | tuple) else [numbers]
    known = [each for each in given if type(each) is int]
    if len(given) not in (1, 2) or len(known) < len(given):
        raise Declined
    return known[0], known[-1]


# ---------------------------------------------------------------------- losses


MEAN: Final = 1
"""The `reduction` of a loss, in torch's numbers: 0 leaves the elements, 2 is the sum."""


@lowering(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss_forward(
    at: Site, x: Value, target: Value, weight: Value | None, reduction: int, ignored: int
) -> Lowered:
    """Lower the negative log likelihood: the element of each target, which must be in bounds."""
    if x.rank < 2 or type(ignored) is not int or x.dtype not in ("float32", "float64"):
        raise Declined
    counts = target.differs(ignored)
    inside = (target >= 0) & (target < x.sizes[1])
    at.require(inside | ~counts, IndexError, "a target is out of bounds")
    places: GatherIndices = (at.build.axis(0), target.tensor, *[at.build.axis(axis) for axis in range(1, target.rank)])
    sizes = inside.sizes
    share = counts.cast(x.dtype)
    if weight is not None:
        share = counts.select(weight.gather((target.tensor,), sizes, inside), 0)
    chosen = -x.gather(places, sizes, inside)
    chosen = counts.select(chosen if weight is None else chosen * share, 0)
    axes = range(target.rank)
    if reduction == 0:
        return [chosen, at.full(0, sizes=())]
    count = share.sum(axes)
    total = chosen.sum(axes)
    return [total / count if reduction == MEAN else total, count]


@lowering(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(
    at: Site,
    grad: Value,
    x: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignored: int,
    total: Value,
) -> Value:
    """Lower the gradient of the negative log likelihood, nonzero at targets only.

    The forward has checked their bounds.
    """
    if x.rank < 2 or type(ignored) is not int:
        raise Declined
    if reduction == 0:
        share = at.operand(grad.unsqueezed([1]))
    else:
        share = at.operand(grad) / at.operand(total) if reduction == MEAN else at.operand(grad)
    if weight is not None:
        share = share.expanded(x.sizes) * weight.along(1, x.rank).expanded(x.sizes)
    target = target.unsqueezed([1]).expanded(x.sizes)
    return (at.iota(1, x.sizes).equals(target) & target.differs(ignored)).select(-share, 0)
