"""Lowering of operators on rows of different lengths: values and offsets, as jagged tensors and CSR have them.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile(backend="cpu", dynamic=True)
    ... def softmax_by_row(x, offsets):
    ...     row = torch.repeat_interleave(offsets.diff(), output_size=len(x))
    ...     e = torch.exp(x - torch.segment_reduce(x, "max", offsets=offsets)[row])
    ...     return e / torch.segment_reduce(e, "sum", offsets=offsets)[row]
    >>> softmax_by_row(torch.zeros(6), torch.tensor([0, 2, 2, 6]))
    tensor([0.5000, 0.5000, 0.2500, 0.2500, 0.2500, 0.2500])
    >>> print(softmax_by_row.explain(kernels=True).count("first <= i1 < last"))
    1

Offsets are read by the kernels. What eager checks of them is checked before: that they do not decrease, that they fit
the values, that no row is longer than what it is padded to. A kernel accesses nothing outside, whatever offsets are.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

import torch

from backends.cpu.scatter import added_rows
from backends.decisions.questions import is_plain
from backends.loops.affine import Affine, packed
from backends.loops.nodes import GatherIndices, Memory, Pointwise, RowOf, Rows, Tensor, View
from backends.loops.operations import DTYPES
from backends.loops.padding import unpadded
from backends.loops.program import Call, Program
from backends.loops.values import Value
from backends.program.runtime_functions import offsets_of, sum_of
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, Size, lowering
from solver.terms.expr import Expr

aten: Final = torch.ops.aten
OFFSETS: Final = ("int64", "int32")
OPERATIONS: Final = {"sum": "sum", "mean": "sum", "max": "maximum", "min": "minimum", "prod": "product"}
_known: Final[WeakKeyDictionary[Program, list[Rows]]] = WeakKeyDictionary()
"""The rows of each program: what is computed by the same rows may be one kernel."""


# ---------------------------------------------------------------------- rows


def rows_at(at: Site, offsets: Memory, total: Expr, limit: Expr | None = None, *, is_shifted: bool = False) -> Rows:
    """The rows of an axis, the same object for the same offsets."""
    known = _known.setdefault(at.program, [])
    for rows in known:
        is_same = rows.offsets.buffer is offsets.buffer and rows.offsets.offset == offsets.offset
        if is_same and rows.limit is limit and at.build.decisions.equal(rows.total, total):
            # offsets from 0 to the end are what both ways to read them require
            rows.is_shifted = rows.is_shifted and is_shifted
            rows.totals.add(total)
            return rows
    known.append(Rows(offsets, offsets.sizes[0] - 1, total, limit, is_shifted))
    return known[-1]


def rows_of(at: Site, offsets: Value, total: Expr, limit: Expr | None = None) -> Rows:
    """The rows between these offsets."""
    if offsets.rank != 1 or offsets.dtype not in OFFSETS or not at.is_nonnegative(offsets.sizes[0] - 1):
        raise Declined
    return rows_at(at, at.stored(offsets), total, limit)


def ends(at: Site, rows: Rows) -> tuple[Value, Value]:
    """The offsets where rows begin, and where they end."""
    found = []
    for start in (at.build.zero, at.build.one):
        memory = at.build.slice(rows.offsets, 0, start, 1, rows.count)
        found.append(Value(at.build, memory, (rows.count,)).cast("int64"))
    return found[0], found[1]


def require_order(at: Site, rows: Rows) -> None:
    """Require that rows have no negative length and lie within the axis."""
    if rows.is_ordered:
        return
    rows.is_ordered = True
    first, last = ends(at, rows)
    inside = (first >= 0) & (last >= first) & (last <= rows.total)
    at.require(inside, RuntimeError, "offsets must not decrease, and be within the axis that they divide")


def require_cover(at: Site, rows: Rows, message: str) -> None:
    """Require that each element is in one row, and that no row is longer than its limit."""
    if rows.covers:
        return
    rows.covers = True
    first, last = ends(at, rows)
    fits = last >= first
    if rows.limit is not None:
        fits = fits & (last - first <= rows.limit)
    start, end = [
        Value(at.build, at.build.select(rows.offsets, 0, place), ()).cast("int64")
        for place in (at.build.zero, rows.count)
    ]
    whole = (end - start if rows.is_shifted else end).equals(rows.total)
    if not rows.is_shifted:
        whole = whole & start.equals(0)
    at.require(fits.reduce("all", [0]) & whole, RuntimeError, message, guards=(rows.offsets.buffer,))


def diff_of(x: Tensor) -> Memory | None:
    """The offsets whose differences a tensor is: `offsets[1:] - offsets[:-1]`."""
    match x:
        case Pointwise(operation="sub", operands=(Memory() as last, Memory() as first)):
            step = first.offset.coefficient(0)
            is_next = step is not None and last.offset.constant - first.offset.constant is step
            if last.buffer is first.buffer and last.offset.terms == first.offset.terms and is_next:
                return Memory((first.sizes[0] + 1,), first.dtype, first.buffer, first.offset)
    return None


def rows_of_lengths(at: Site, counts: Value, total: Expr) -> Rows:
    """The rows of these lengths."""
    if counts.rank != 1 or counts.dtype not in OFFSETS:
        raise Declined
    offsets = diff_of(counts.tensor)
    if offsets is not None:
        return rows_at(at, offsets, total, is_shifted=True)
    sizes = (counts.sizes[0] + 1,)
    buffer = at.program.buffer("int64", sizes, packed(sizes))
    at.program.steps.append(Call(offsets_of, (at.stored(counts),), {}, (buffer,), has_layout=True))
    return rows_at(at, at.build.memory(buffer), total)


@lowering(aten.repeat_interleave.Tensor, binds=True)
def repeat_interleave(at: Site, repeats: Value, *, output_size: Size | None = None) -> Value:
    """The row of each element, for rows of these lengths."""
    if repeats.rank != 1 or repeats.dtype not in OFFSETS:
        raise Declined
    total = at.sizes[0] if output_size is None else at.size(output_size)
    if output_size is None:
        if not is_plain(total) or total.is_constant:
            raise Declined
        (symbol,) = total.symbols
        at.program.steps.append(Call(sum_of, (at.stored(repeats),), {}, (symbol,)))
    rows = rows_of_lengths(at, repeats, total)
    require_cover(at, rows, "allocated size does not match required size")
    return Value(at.build, at.build.row_of(rows), (rows.total,))


# ---------------------------------------------------------------------- reductions


def reduced(at: Site, operation: str, x: Value, rows: Rows) -> Value:
    made = at.build.reduce_rows(operation, spread(x), rows)
    return Value(at.build, made, made.sizes)


def spread(x: Value) -> Tensor:
    """A tensor expression over the axes of a value, also if it is a number."""
    return x.tensor if x.tensor.rank else View(x.sizes, x.dtype, x.tensor, ())


def counted(at: Site, rows: Rows, like: Value) -> Value:
    """The number of elements of each row."""
    first, last = ends(at, rows)
    return (last - first).cast(like.dtype).along(0, like.rank).expanded(like.sizes)


def segments(at: Site, x: Value, counts: Value | None, offsets: Value | None, axis: int, *, unsafe: bool) -> Rows:
    if axis % max(x.rank, 1) or not x.rank or not x.is_float:
        raise Declined
    if offsets is not None:
        rows = rows_of(at, offsets, x.sizes[0])
        require_order(at, rows)
        return rows
    if counts is None:
        raise Declined
    rows = rows_of_lengths(at, counts, x.sizes[0])
    if rows.is_shifted or unsafe:
        raise Declined
    message = "segment_reduce(): Expected all rows of lengths along axis to sum to data.size when !unsafe."
    require_cover(at, rows, message)
    return rows


@lowering(aten.segment_reduce.default)
def segment_reduce(
    at: Site,
    x: Value,
    reduce: str,
    *,
    lengths: Value | None = None,
    indices: Value | None = None,
    offsets: Value | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: object = None,
) -> Value:
    if indices is not None or isinstance(initial, Value) or not isinstance(initial, int | float | None):
        raise Declined
    rows = segments(at, x, lengths, offsets, axis, unsafe=unsafe)
    found = reduced(at, OPERATIONS[reduce], x.computed(), rows)
    if initial is not None:
        start = {"sum": "add", "mean": "add", "prod": "mul", "max": "maximum", "min": "minimum"}[reduce]
        found = found.apply(start, float(initial))
    if reduce != "mean":
        return found
    count = counted(at, rows, found)
    average = found / count
    return average if initial is None else count.equals(0).select(found, average)


@lowering(aten._segment_reduce_backward.default)
def segment_reduce_backward(
    at: Site,
    grad: Value,
    output: Value,
    x: Value,
    reduce: str,
    *,
    lengths: Value | None = None,
    offsets: Value | None = None,
    axis: int = 0,
    initial: object = None,
) -> Value:
    if reduce == "prod":
        raise Declined
    rows = segments(at, x, lengths, offsets, axis, unsafe=False)
    grad, x, output = grad.computed(), x.computed(), output.computed()
    if reduce == "mean":
        grad = grad / counted(at, rows, grad)
    made = by_row(at, grad, rows)
    if reduce in ("max", "min"):
        is_extreme = x.equals(by_row(at, output, rows)) | x.apply("isnan")
        ties = reduced(at, "sum", is_extreme.cast(x.dtype), rows)
        # eager divides among equal extremes what is above 0
        made = is_extreme.select((made > 0).select(made / by_row(at, ties, rows), made), 0)
    if rows.covers:
        return made
    memory = at.new()
    at.assign(memory, memory.number(0))
    at.assign(memory, made)
    return memory


# ---------------------------------------------------------------------- rows as indices


def by_row(at: Site, x: Value, rows: Rows) -> Value:
    """For each element, the value of its row."""
    sizes = (rows.total, *x.sizes[1:])
    row = at.build.view(at.build.row_of(rows), sizes, (at.build.axis(0),))
    indices: GatherIndices = (row, *at.build.axes(len(sizes))[1:])
    return x.gather(indices, sizes)


def row_index(index: Value | None) -> Rows | None:
    """The rows whose numbers these are, one for each element along the first axis."""
    match index and index.tensor:
        case RowOf(rows=rows) | View(source=RowOf(rows=rows), indices=(Affine(as_axis=0),)):
            return rows
    return None


@lowering(aten.index_select.default)
def index_select(at: Site, x: Value, axis: int, index: Value) -> Value:
    rows = row_index(index)
    is_inside = rows is not None and x.rank > 0 and at.build.decisions.equal(rows.count, x.sizes[0])
    if rows is None or not is_inside or axis % x.rank or index.rank != 1:
        raise Declined
    return by_row(at, x, rows)


@lowering(aten.index.Tensor)
def index(at: Site, x: Value, indices: list[Value | None]) -> Value:
    if len(indices) != 1 or indices[0] is None:
        raise Declined
    return index_select(at, x, 0, indices[0])


@lowering(aten.index_add.default, aten.scatter_add.default)
def index_add(at: Site, x: Value, axis: int, index: Value, source: Value, *, alpha: object = 1) -> Value:
    """The sums of rows, added to x."""
    rows = row_index(index)
    if rows is None or not x.rank or axis % x.rank or alpha != 1 or x.rank != source.rank:
        raise Declined
    if not all(map(at.build.decisions.equal, (rows.count, *x.sizes[1:]), x.sizes)):
        raise Declined
    if not all(map(at.build.decisions.equal, (rows.total, *x.sizes[1:]), source.sizes)):
        raise Declined
    if index.rank > 1 and not all(map(at.build.decisions.equal, index.sizes, source.sizes)):
        raise Declined
    total = reduced(at, "sum", source.computed(), rows)
    return x.computed() + total


@lowering(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(at: Site, x: Value, indices: list[Value | None], values: Value, accumulate: bool = False) -> Value:
    if not accumulate or len(indices) != 1 or indices[0] is None or indices[0].rank != 1:
        raise Declined
    return index_add(at, x, 0, indices[0], values)


# ---------------------------------------------------------------------- tables


@lowering(aten.embedding_dense_backward.default)
def embedding_backward(
    at: Site, grad: Value, indices: Value, count: Size, ignored: Size, by_frequency: object,
    offsets: Value | None = None,
) -> Value:  # fmt: skip
    """The rows of a table, each the sum of the gradients of what was looked up in it."""
    if by_frequency or at.kind.device.type != "cpu" or at.dtype != "float32" or grad.dtype != "float32":
        raise Declined
    buffer = at.program.buffer(at.dtype, at.sizes, packed(at.sizes))
    tensors = [None if each is None else at.stored(each) for each in (grad, indices, offsets)]
    arguments = (*tensors[:2], at.size(count), at.size(ignored), tensors[2])
    at.program.steps.append(Call(added_rows, arguments, {}, (buffer,), has_layout=True, is_fresh=True))
    return Value(at.build, at.build.memory(buffer), at.sizes)


@lowering(aten._embedding_bag_backward.default)
def bags_backward(
    at: Site, grad: Value, indices: Value, offsets: Value, of: object, sizes: object, most: object, count: Size,
    by_frequency: object, mode: object, is_sparse: object, weights: object, ignored: Size = -1,
) -> Value:  # fmt: skip
    """The same for sums of bags, whose last offset is where the last bag ends."""
    is_sum = mode == 0 and not is_sparse and weights is None
    if not is_sum or not at.build.decisions.equal(offsets.sizes[0], grad.sizes[0] + 1):
        raise Declined
    return embedding_backward(at, grad, indices, count, ignored, by_frequency, offsets)


# ---------------------------------------------------------------------- padding


@lowering(aten._jagged_to_padded_dense_forward.default)
def jagged_to_padded(
    at: Site, x: Value, offsets: list[Value], max_lengths: list[Size], padding_value: object = 0.0
) -> Value:
    if not isinstance(padding_value, int | float | Value) or x.dtype not in DTYPES:
        raise Declined
    if len(offsets) != 1 or len(max_lengths) != 1 or not x.rank:
        raise Declined
    width = at.size(max_lengths[0])
    rows = rows_of(at, offsets[0], x.sizes[0], width)
    if isinstance(padding_value, Value):
        padding = padding_value.cast(x.dtype).tensor
    else:
        padding = at.full(padding_value, "float64", ()).cast(x.dtype).tensor
    made = at.build.padded(spread(x), rows, width, padding)
    return Value(at.build, made, made.sizes)


@lowering(aten._padded_dense_to_jagged_forward.default)
def padded_to_jagged(at: Site, x: Value, offsets: list[Value], total: Size | None = None) -> Lowered:
    if len(offsets) != 1 or total is None or x.rank < 2:
        raise Declined
    rows = rows_of(at, offsets[0], at.size(total), x.sizes[1])
    if not at.build.decisions.equal(rows.count, x.sizes[0]):
        raise Declined
    name = "_padded_dense_to_jagged_forward()"
    message = f"{name}: the final offset should match total_L, and no row be longer than the padded input"
    require_cover(at, rows, message)
    return Value(at.build, unpadded(at.build, x.tensor, rows), (rows.total, *x.sizes[2:]))
