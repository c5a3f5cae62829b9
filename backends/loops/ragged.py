"""Ragged axes: rows of different lengths in one axis, whose bounds are read from memory.

    for rows b
        for offsets[b] <= t < offsets[b + 1]

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.nodes import Rows
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, t = [size.expr for size in env.sizes("b t")]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (t,), (build.one,))
    >>> offsets = program.input("offsets", "int64", (b + 1,), (build.one,))
    >>> rows = Rows(offsets, b, t)
    >>> total = build.reduce_rows("sum", x, rows)
    >>> program.outputs.append(program.stored(total, (build.one,)))
    >>> for step in schedule(program):
    ...     print(step)
    k0: for i0 < b | first <= i1 < last, lanes i1
      first: minimum(maximum(offsets[i0], 0), t)
      last: minimum(maximum(offsets[i0 + 1], minimum(maximum(offsets[i0], 0), t)), t)
      pass 0:
        sum0 += x[i1]
      once:
        made0[i0] = sum0

What lies along rows is loaded and stored where it is, so nothing is padded. Bounds are clamped to the axis: whatever
the offsets are, nothing outside is accessed. What is one value for each row is that of the row's loop in a ragged
nest, so `x - total[row_of]` needs no table of rows; other nests load the row of an element from memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from backends.loops.affine import Affine
from backends.loops.kernels import Bodies, Scalar
from backends.loops.nodes import Concat, Gather, Indices, Pointwise, Reduce, RowOf, Rows, Tensor, View
from solver.terms.expr import Expr


def bounds_of(bodies: Bodies, rows: Rows, row: Affine) -> tuple[Scalar, Scalar]:
    """The bounds of a row, within the axis."""
    zero, total = bodies.constant(0, "int64"), bodies.size(rows.total, "int64")
    if rows.total.is_constant:
        total = bodies.constant(rows.total.constant, "int64")

    def apply(operation: str, *operands: Scalar) -> Scalar:
        return bodies.apply(operation, operands, "int64")

    def offset(index: Affine) -> Scalar:
        found = bodies.load(rows.offsets.buffer, rows.offsets.offset.at((index,)))
        return found if found.dtype == "int64" else apply("cast", found)

    interner = rows.total.interner
    first, last = offset(row), offset(row + Affine.of(interner.one))
    if rows.is_shifted:
        start = offset(Affine.of(interner.zero))
        first, last = apply("sub", first, start), apply("sub", last, start)
    first = apply("minimum", apply("maximum", first, zero), total)
    last = apply("minimum", apply("maximum", last, first), total)
    if rows.limit is not None:
        last = apply("minimum", last, apply("add", first, bodies.size(rows.limit, "int64")))
    return first, last


def rows_along(root: Tensor, sizes: Sequence[Expr], memory: Collection[Tensor]) -> tuple[Rows, int] | None:
    """The rows that a tensor is best computed by, and along which of its axes; None if no element depends on the row
    that it is in."""
    for found, axis in _rows_below(root, sizes, memory):
        if axis is not None:
            return found.rows, axis
    return None


def tables_needed(tensor: Tensor, memory: Collection[Tensor]) -> Iterator[RowOf]:
    """The rows of elements that the nest of a tensor loads from memory, as they are not those of its loops."""
    if isinstance(tensor, Reduce):
        root, chosen = tensor.source, None if tensor.rows is None else (tensor.rows, tensor.axes[0])
    else:
        root, chosen = tensor, rows_along(tensor, tensor.sizes, memory)
    for found, axis in _rows_below(root, root.sizes, memory):
        if chosen is None or axis != chosen[1] or found.rows is not chosen[0]:
            yield found


def _rows_below(
    root: Tensor, sizes: Sequence[Expr], memory: Collection[Tensor]
) -> Iterator[tuple[RowOf, int | None]]:
    """The rows of elements below a tensor, down to what is in memory; each with the axis of the tensor that it varies
    along, None if it is no such axis as a whole."""
    if not root.rank:
        return
    interner = root.sizes[0].interner
    stack: list[tuple[Tensor, Indices]] = [(root, tuple([Affine.axis(axis, interner) for axis in range(root.rank)]))]
    seen: set[tuple[Tensor, Indices]] = set()
    while stack:
        tensor, indices = stack.pop()
        if not tensor.rank or (tensor, indices) in seen:
            continue
        seen.add((tensor, indices))
        if isinstance(tensor, RowOf):
            axis = indices[0].as_axis
            yield tensor, axis if axis is not None and sizes[axis] in tensor.rows.totals else None
        elif tensor is root or tensor not in memory:
            match tensor:
                case Pointwise(operands=operands):
                    stack += [(operand, indices) for operand in reversed(operands)]
                case View(source=source, indices=inside):
                    stack.append((source, tuple([index.at(indices) for index in inside])))
                case Gather():
                    stack += [(each, indices) for each in reversed(tensor.computed)]
                case Concat(pieces=pieces):
                    stack += [(piece, tensor.at(place, indices)) for place, piece in enumerate(pieces)]
