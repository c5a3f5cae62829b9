"""Padded rows as an algebra: what is computed from padded rows is computed from the rows, and from the padding once.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> from backends.loops.nodes import Reduce, Rows
    >>> from backends.loops.tensors import Expressions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, t, d, most = [size.expr for size in env.sizes("b t d most")]
    >>> build = Expressions(Decisions(env))
    >>> x = build.memory(Buffer("x", "float32", (t, d), (d, build.one)))
    >>> offsets = build.memory(Buffer("offsets", "int64", (b + 1,), (build.one,)))
    >>> rows = Rows(offsets, b, t, most)
    >>> padded = build.padded(x, rows, most, build.number(0.0, "float32"))
    >>> padded, unpadded(build, build.apply("neg", padded), rows)
    (float32[b, most, d], float32[t, d])
    >>> total = build.reduce("sum", padded, (1,))              # zeros add nothing
    >>> isinstance(total, Reduce), total.rows is rows
    (True, True)

A reduction over padded rows is that over the rows, combined with what all of the padding is reduced to: for a sum,
f(padding) times the number of padded elements. That holds for every value of f(padding), infinities and nan included.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from backends.loops.affine import Affine
from backends.loops.elementwise import Elementwise
from backends.loops.gather import gather
from backends.loops.nodes import (
    Concat,
    GatherIndices,
    Indices,
    Memory,
    Number,
    Padded,
    Pointwise,
    Reduce,
    RowOf,
    Rows,
    Sizes,
    Tensor,
    View,
)
from backends.loops.operations import extremes
from backends.loops.toposort import toposort

IDENTITY = {"sum": 0, "product": 1, "any": False, "all": True}


def unpadded(build: Elementwise, x: Tensor, rows: Rows) -> Tensor:
    """The elements of x that are no padding, in one axis: rows and padded axis are the first two of x."""
    made: dict[Tensor, Tensor] = {}
    for tensor in toposort([x], _operands):
        made[tensor] = _unpadded(build, tensor, rows, made)
    return made[x]


def _operands(tensor: Tensor) -> tuple[Tensor, ...]:
    return tensor.operands if isinstance(tensor, Pointwise) else ()


def _unpadded(build: Elementwise, x: Tensor, rows: Rows, made: dict[Tensor, Tensor]) -> Tensor:
    if not x.rank:
        return x
    sizes = (rows.total, *x.sizes[2:])
    if isinstance(x, Pointwise):
        return Pointwise(sizes, x.dtype, x.operation, tuple([made[operand] for operand in x.operands]))
    seen = _padded(x)
    if seen is not None and seen[0].rows is rows:
        return build.view(seen[0].source, sizes, seen[1])
    row = build.view(RowOf((rows.total,), "int64", rows), sizes, (build.axis(0),))
    rest = build.axes(len(sizes))[1:]
    if not _varies(x):
        indices: GatherIndices = (row, *rest)
        return gather(build, build.select(x, 1, build.zero), sizes, indices, None)
    first = gather(build, _offsets(build, rows), sizes, (row,), None)
    place = build.apply("sub", build.iota(sizes, 0), build.cast(first, "int64"))
    return gather(build, x, sizes, (row, place, *rest), None)


def _padded(x: Tensor) -> tuple[Padded, Indices] | None:
    """The padded rows that a tensor is, or is a view of with rows and padded axis where they are; and the indices of
    their elements by the axes of what is not padded."""
    match x:
        case Padded(rank=rank):
            return x, tuple([Affine.axis(axis, x.rows.total.interner) for axis in range(rank - 1)])
        case View(source=Padded() as source, indices=(row, place, *rest)):
            is_whole = all(size is given for size, given in zip(x.sizes[:2], source.sizes))
            is_whole = is_whole and (row.as_axis, place.as_axis) == (0, 1)
            if is_whole and not any({0, 1} & {*index.axes} for index in rest):
                moved = [Affine(tuple([(axis - 1, step) for axis, step in each.terms]), each.constant) for each in rest]
                return source, (row, *moved)
    return None


def _leaves(x: Tensor) -> list[Tensor]:
    """The tensors with axes that an elementwise expression is computed from."""
    return [leaf for leaf in toposort([x], _operands) if leaf.rank and not isinstance(leaf, Pointwise)]


def _varies(x: Tensor, axis: int = 1) -> bool:
    """Return True if a tensor may vary along an axis, by default its second, which is padded."""
    match x:
        case View(indices=indices):
            return any(axis in index.axes for index in indices)
        case Memory(offset=offset):
            return axis in offset.axes
    return True


def _offsets(build: Elementwise, rows: Rows) -> Tensor:
    """The first element of each row."""
    return build.slice(rows.offsets, 0, build.zero, 1, rows.count)


def lengths(build: Elementwise, rows: Rows) -> Tensor:
    """The number of elements of each row, as `backends.loops.ragged.bounds_of` has it."""
    assert not rows.is_shifted
    zero, total = build.number(0, "int64"), build.number(rows.total, "int64")
    first, last = [
        build.cast(build.slice(rows.offsets, 0, start, 1, rows.count), "int64") for start in (build.zero, build.one)
    ]
    first = build.apply("minimum", build.apply("maximum", first, zero), total)
    last = build.apply("minimum", build.apply("maximum", last, first), total)
    count = build.apply("sub", last, first)
    return count if rows.limit is None else build.apply("minimum", count, build.number(rows.limit, "int64"))


def reduce_padded(build: Elementwise, operation: str, x: Tensor, axes: Sequence[int]) -> Tensor | None:
    """A reduction over padded rows, without the padding; None if it is none."""
    if isinstance(x, Concat) and x.axis == 1 and tuple(axes) == (1,) and operation in ("minimum", "maximum"):
        # an extreme with a number beside, which stands for that of no elements
        first, *rest = x.pieces
        extreme = reduce_padded(build, operation, first, axes)
        if extreme is None or not all(isinstance(each, Number) for each in rest) or not _is_longer(x):
            return None
        for number in rest:
            extreme = extreme if is_identity(operation, number) else build.apply(operation, extreme, number)
        return extreme
    if 0 in axes or 1 not in axes or not isinstance(x, Pointwise | Padded | View):
        return None
    leaves = _leaves(x)
    found = [_padded(leaf) for leaf in leaves]
    rows = next((each[0].rows for each in found if each is not None), None)
    if rows is None or any(each is None and _varies(leaf) for leaf, each in zip(leaves, found)):
        return None
    if any(each is not None and each[0].rows is not rows for each in found):
        return None
    inside = [axis - 1 for axis in axes if axis > 1]
    kept = tuple([size for axis, size in enumerate(x.sizes) if axis not in axes])
    whole = Reduce(kept, x.dtype, unpadded(build, x, rows), operation, (0, *inside), rows)
    padding = _of_padding(build, x)
    if is_identity(operation, padding):
        return whole
    if operation == "product":
        return None
    one = _reduced_padding(build, operation, padding, (x.sizes[0], *x.sizes[2:]), inside)
    count = _broadcast(build, lengths(build, rows), kept)
    left = build.apply("sub", build.number(x.sizes[1], "int64"), count)
    has_padding = build.apply("gt", left, build.number(0, "int64"))
    if operation == "sum":
        times = build.cast(left, x.dtype)
        combined = build.apply("add", whole, build.apply("mul", _broadcast(build, one, kept), times))
    else:
        word = {"any": "bitor", "all": "bitand"}.get(operation, operation)
        combined = build.apply(word, whole, _broadcast(build, one, kept))
    return build.apply("select", has_padding, combined, whole)


def _is_longer(x: Concat) -> bool:
    """Return True if each piece but the first has elements."""
    ends = (*x.bounds, x.sizes[x.axis])
    return all((end - begin).is_constant and (end - begin).constant > 0 for begin, end in pairwise(ends))


def is_identity(operation: str, padding: Tensor) -> bool:
    """Return True if padding changes no result of a reduction."""
    if not isinstance(padding, Number):
        return False
    if operation in IDENTITY:
        return padding.value == IDENTITY[operation]
    least, most = extremes(padding.dtype)
    return padding.value == (least if operation == "maximum" else most)


def _of_padding(build: Elementwise, x: Tensor) -> Tensor:
    """An element that is padding, for each row: without the padded axis, or a number."""
    made: dict[Tensor, Tensor] = {}
    for tensor in toposort([x], _operands):
        seen = _padded(tensor) if tensor.rank else None
        if isinstance(tensor, Pointwise):
            operands = tuple([made[operand] for operand in tensor.operands])
            sizes = (tensor.sizes[0], *tensor.sizes[2:]) if any(operand.rank for operand in operands) else ()
            made[tensor] = Pointwise(sizes, tensor.dtype, tensor.operation, operands)
            if tensor.operation == "cast" and isinstance(operands[0], Number):
                made[tensor] = build.cast(operands[0], tensor.dtype)
        elif seen is not None:
            made[tensor] = seen[0].padding
        else:
            made[tensor] = build.select(tensor, 1, build.zero) if tensor.rank else tensor
    return made[x]


def _reduced_padding(
    build: Elementwise, operation: str, padding: Tensor, sizes: Sizes, inside: Sequence[int]
) -> Tensor:
    """The padding of one place reduced over the other axes; what is the same along them is taken so many times."""
    varying = [axis for axis in inside if any(_varies(leaf, axis) for leaf in _leaves(padding))]
    same = [axis for axis in inside if axis not in varying]
    if varying:
        kept = tuple([size for axis, size in enumerate(sizes) if axis not in varying])
        padding = Reduce(kept, padding.dtype, padding, operation, tuple(varying))
        same = [axis - sum([each < axis for each in varying]) for axis in same]
    for axis in reversed(same) if padding.rank else ():
        padding = build.select(padding, axis, build.zero)
    if operation != "sum":
        return padding
    times = build.product([sizes[axis] for axis in inside if axis not in varying])
    return build.apply("mul", padding, build.cast(build.number(times, "int64"), padding.dtype))


def _broadcast(build: Elementwise, x: Tensor, sizes: Sizes) -> Tensor:
    """A tensor of the rows, with the axes that follow them."""
    if not x.rank or x.rank == len(sizes):
        return x
    return build.view(x, sizes, (build.axis(0),))

