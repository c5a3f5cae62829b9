"""Lowering of max pooling and bilinear resampling."""

from __future__ import annotations

from itertools import product
from typing import Final

import torch

from backends.loops.affine import Affine
from backends.loops.nodes import Gather, GatherIndices
from backends.loops.operations import computed_as
from frontends.pytorch.lowering.registry import Declined, Number, Site, lowering
from frontends.pytorch.lowering.values import Value
from solver.terms.expr import Expr

aten: Final = torch.ops.aten
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


@lowering(aten.upsample_bilinear2d.default)
def bilinear(
    at: Site,
    x: Value,
    size: object,
    align_corners: bool,
    by_rows: Number | None = None,
    by_columns: Number | None = None,
) -> Value:
    """Bilinear interpolation of the four neighbors."""
    if by_rows is not None or by_columns is not None or not x.is_float:
        raise Declined
    (above, below, down), (left, right, along) = [
        _between(at, axis, x.sizes[axis], computed_as(x.dtype), align_corners) for axis in (2, 3)
    ]
    upper, lower = [
        _taken(at, x, rows, left).computed() * (1 - along) + _taken(at, x, rows, right).computed() * along
        for rows in (above, below)
    ]
    return upper * (1 - down) + lower * down


def _between(at: Site, axis: int, given: Expr, dtype: str, align_corners: bool) -> tuple[Value, Value, Value]:
    """The lower and upper neighbor along an axis, and the weight of the upper one."""
    wanted = at.sizes[axis]
    place = at.iota(axis).cast(dtype)
    if align_corners:
        last = at.full(wanted - 1, "int64").apply("maximum", 1).cast(dtype)
        place = place * (at.full(given - 1, dtype) / last)
    else:
        place = ((place + 0.5) * (at.full(given, dtype) / wanted) - 0.5).apply("maximum", 0.0)
    before = place.cast("int64").apply("minimum", given - 1)
    behind = (before + 1).apply("minimum", given - 1)
    return before, behind, (place - before.cast(dtype)).apply("maximum", 0.0).apply("minimum", 1.0)


def _taken(at: Site, x: Value, rows: Value, columns: Value) -> Value:
    """Gather elements of each image at indices that are in bounds."""
    source = at.memory(at.operation.args[0])
    places: GatherIndices = (*at.build.axes(2), rows.tensor, columns.tensor)
    return Value(at.build, Gather(at.sizes, x.dtype, source, places), at.sizes)
