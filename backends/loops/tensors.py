"""Tensors as expressions: an element as a function of its index. What lowerings build and fusion inlines.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> build = Expressions(Decisions(env))
    >>> x = build.memory(Buffer("x", "float32", (b, s), (s, build.lift(1))))
    >>> total = build.reduce("sum", build.apply("exp", x), (1,), keepdim=True)
    >>> total
    float32[b, 1]

The builder simplifies: one-hot sums become gathers, and gathers are pushed down to operands (`backends.loops.gather`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backends.loops.elementwise import Elementwise
from backends.loops.gather import gather, one_hot_sum
from backends.loops.nodes import (
    CollapseAxes,
    Concat,
    GatherIndices,
    Number,
    Padded,
    Pointwise,
    Reduce,
    RowOf,
    Rows,
    Sizes,
    Tensor,
)
from backends.loops.padding import reduce_padded
from solver.terms.expr import Expr

OF_BOOLS: Final = {"maximum": "any", "minimum": "all"}
"""The extremes of bools as integers. Of no elements there are none."""


class Expressions(Elementwise):
    """Builds tensors, simplified as they are built."""

    # ------------------------------------------------------------------ gathers and concatenations

    def concat(self, pieces: Sequence[Tensor], axis: int, bounds: Sizes, sizes: Sizes) -> Tensor:
        """The concatenation of pieces of one dtype; a piece that is a number is as long as the bounds leave it."""
        return Concat(sizes, pieces[0].dtype, tuple(pieces), axis, bounds)

    def gather(self, x: Tensor, sizes: Sizes, indices: GatherIndices, inside: Tensor | None = None) -> Tensor:
        """A tensor of these sizes, each element that of x at these indices, some of which are data; 0 where they are
        not `inside`, if any may be out of bounds."""
        return gather(self, x, sizes, indices, inside)

    # ------------------------------------------------------------------ rows

    def row_of(self, rows: Rows) -> Tensor:
        """The row of each element."""
        return RowOf((rows.total,), "int64", rows)

    def padded(self, x: Tensor, rows: Rows, width: Expr, padding: Tensor) -> Tensor:
        """The rows along the first axis of x, each padded to a width that is no less than their limit."""
        return Padded((rows.count, width, *x.sizes[1:]), x.dtype, x, rows, padding)

    def reduce_rows(self, operation: str, x: Tensor, rows: Rows, axes: Sequence[int] = (0,)) -> Tensor:
        """The first axis of x reduced row by row, and others of these axes with it."""
        sizes = [size for axis, size in enumerate(x.sizes) if axis not in axes]
        return Reduce((rows.count, *sizes), x.dtype, x, operation, tuple(sorted(axes)), rows)

    # ------------------------------------------------------------------ reductions

    def reduce(self, operation: str, x: Tensor, axes: Sequence[int], *, keepdim: bool = False) -> Tensor:
        """These axes reduced to one value, in the dtype of x."""
        if not axes:
            return x
        if not x.rank or isinstance(x, Number):
            raise ValueError(f"axes={tuple(axes)}: a number has none")
        made = self._reduced(operation, x, tuple(sorted(axes)))
        for axis in sorted(axes) if keepdim else ():
            made = self.unsqueeze(made, axis)
        return made

    def _reduced(self, operation: str, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        sizes = tuple([size for axis, size in enumerate(x.sizes) if axis not in axes])
        by_rows = reduce_padded(self, operation, x, axes)
        if by_rows is not None:
            return by_rows
        if isinstance(x, Pointwise) and x.operation == "cast" and operation in OF_BOOLS:
            (truth,) = x.operands
            if truth.dtype == "bool":
                return self.cast(self._reduced(OF_BOOLS[operation], truth, axes), x.dtype)
        if not isinstance(x, CollapseAxes):
            found = one_hot_sum(self, x, axes) if operation == "sum" else None
            return Reduce(sizes, x.dtype, x, operation, axes) if found is None else self.reduce(operation, *found)
        inside = tuple([part for axis in axes for part in x.runs[axis]])
        whole = self._reduced(operation, x.source, inside) if inside else x.source
        kept = [run for axis, run in enumerate(x.runs) if axis not in axes]
        if all(len(run) == 1 for run in kept):
            return whole
        first = iter(range(whole.rank))
        return CollapseAxes(sizes, x.dtype, whole, tuple([tuple([next(first) for _ in run]) for run in kept]))
