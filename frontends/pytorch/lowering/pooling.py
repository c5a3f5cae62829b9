"""Lowering of max pooling."""

from __future__ import annotations

from itertools import product
from typing import Final

import torch

from backends.loops.affine import Affine
from frontends.pytorch.lowering.registry import Declined, Number, Site, lowering
from frontends.pytorch.lowering.values import Value

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
