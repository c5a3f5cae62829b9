"""Splits of a tensor along an axis.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, h = env.sizes("b h", lo=1)
    >>> rules["chunk"](env, (b, 3 * h), 3, dim=-1)
    (Shape(b, h), Shape(b, h), Shape(b, h))
    >>> rules["split"](env, (b, h), [8, 16], dim=-1)
    (Shape(b, 8), Shape(b, 16))
    >>> rules["tensor_split"](env, (b, h), [2, -1])
    (Shape(min(b, 2), h), Shape(max(b - 3, 0), h), Shape(1, h))
    >>> s = env.symbol("s", hint=5)
    >>> rules["split"](env, (s,), 2)
    (Shape(2), Shape(2), Shape(s - 4))
    >>> [guard.text for guard in env.guards()]
    ['h == 24', 's >= 5', 's <= 6']

Where the number of pieces depends on a size, that number is required, and with it every size that gives as many.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced, without
from shapes.rules.broadcasting import known
from shapes.rules.expectations import expect_axes
from shapes.rules.registry import Outputs, rule
from shapes.rules.shape import Shape
from shapes.rules.slicing import sliced
from shapes.rules.structure import at_least, counted, holds, simplified
from shapes.rules.viewing import viewed
from shapes.symbolic.choices import Int, sym_max, sym_or, sym_sum


def pieces(x: Shape, axis: int, lengths: Sequence[Int]) -> Outputs:
    """Pieces of these lengths, one after the other."""
    if x.strides is None:
        return Outputs([Shape(replaced(x, axis, length), dtype=x.dtype) for length in lengths])
    found: list[Shape] = []
    offset, stride = x.storage_offset, x.strides[axis]
    for length in lengths:
        found.append(viewed(x, replaced(x, axis, length), x.strides, offset))
        offset = offset + length * stride
    return Outputs(found)


def with_axis(x: Shape, dim: int) -> int:
    """The axis to split, of a tensor that has one."""
    if not x:
        raise ShapeError("a tensor without axes cannot be split")
    return axis_of(dim, len(x))


def by_length(env: ShapeEnv, size: Int, length: Int) -> list[Int]:
    """Pieces of one length, the last one with the rest; an empty axis is one piece."""
    if not at_least(length, 0):
        env.require(length >= 0, "the length of the pieces is negative")
    if not at_least(length, 1):
        env.require(sym_or(length >= 1, size == 0), "pieces without elements")
    if isinstance(length, int) and length == 0:
        return [0]
    number = sym_max(simplified(-(-size // length), size, length), 1)
    if isinstance(number, int):
        count = number
    else:
        count = _counted(env, size, length, number)
    return [*[length] * (count - 1), size - (count - 1) * length]


def _counted(env: ShapeEnv, size: Int, length: Int, number: Int) -> int:
    """The number of pieces, for every size that has as many."""
    lo, hi = env.bounds(number)
    if lo is not None and lo == hi:
        return lo
    count = env.guarding_hint(number)
    if count > 1:
        env.require(size > (count - 1) * length, "fewer pieces")
    env.require(size <= count * length, "more pieces")
    return count


def by_number(env: ShapeEnv, size: Int, number: int) -> list[Int]:
    """So many pieces of one length, the last one with the rest; fewer where they do for all elements."""
    if number < 1:
        raise ShapeError(f"chunks={number}: expected at least 1")
    if isinstance(size, int):
        return [0] * number if size == 0 else by_length(env, size, -(-size // number))
    if number == 1:
        return [size]
    if known(env, size % number == 0):
        return [size // number] * number
    length = -(-size // number)
    if holds(env, sym_or(size == 0, (number - 1) * length < size)):
        return [*[length] * (number - 1), size - (number - 1) * length]
    return by_length(env, size, length)


@rule("split")
def split(env: ShapeEnv, tensor: Shape, split_size_or_sections: Int | Sequence[Int], dim: int = 0) -> Outputs:
    """Pieces of one length, the last one with the rest, or of the lengths given."""
    axis = with_axis(tensor, dim)
    if isinstance(split_size_or_sections, Sequence):
        return _of_lengths(env, tensor, split_size_or_sections, axis)
    return pieces(tensor, axis, by_length(env, tensor[axis], split_size_or_sections))


@rule("unsafe_split")
def unsafe_split(env: ShapeEnv, input: Shape, split_size: Int, dim: int = 0) -> Outputs:
    """Pieces of one length, the last one with the rest."""
    axis = with_axis(input, dim)
    return pieces(input, axis, by_length(env, input[axis], split_size))


@rule("split_with_sizes", "unsafe_split_with_sizes")
def split_with_sizes(env: ShapeEnv, input: Shape, split_sizes: Sequence[Int], dim: int = 0) -> Outputs:
    """Pieces of the lengths given."""
    return _of_lengths(env, input, split_sizes, with_axis(input, dim))


def _of_lengths(env: ShapeEnv, x: Shape, lengths: Sequence[Int], axis: int) -> Outputs:
    for length in lengths:
        if not at_least(length, 0):
            env.require(length >= 0, "the length of a piece is negative")
    env.require(sym_sum(lengths) == x[axis], "the lengths do not add up to the size of the axis")
    return pieces(x, axis, lengths)


@rule("chunk", "unsafe_chunk")
def chunk(env: ShapeEnv, input: Shape, chunks: int, dim: int = 0) -> Outputs:
    """So many pieces of one length, the last one with the rest; fewer where they do for all elements."""
    axis = with_axis(input, dim)
    return pieces(input, axis, by_number(env, input[axis], chunks))


@rule("unbind")
def unbind(env: ShapeEnv, input: Shape, dim: int = 0) -> Outputs:
    """One piece for each place of an axis, without that axis."""
    axis = with_axis(input, dim)
    count = counted(env, input[axis], "pieces")
    sizes = without(input, (axis,))
    if input.strides is None:
        return Outputs([Shape(sizes, dtype=input.dtype)] * count)
    strides, step, first = without(input.strides, (axis,)), input.strides[axis], input.storage_offset
    return Outputs([viewed(input, sizes, strides, first + place * step) for place in range(count)])


def _sections(env: ShapeEnv, number: Int) -> int:
    """A number of pieces, which has to be known."""
    count = counted(env, number, "pieces")
    if count < 1:
        raise ShapeError(f"sections={count}: expected at least 1")
    return count


@rule("tensor_split")
def tensor_split(
    env: ShapeEnv, input: Shape, indices_or_sections: Int | Sequence[Int], dim: int = 0
) -> Outputs:
    """So many pieces of lengths as equal as can be, or pieces that end at the given indices."""
    return _tensor_split(env, input, indices_or_sections, with_axis(input, dim))


def _tensor_split(env: ShapeEnv, x: Shape, where: Int | Sequence[Int], axis: int) -> Outputs:
    size = x[axis]
    if not isinstance(where, Sequence):
        where = _sections(env, where)
        return pieces(x, axis, [(size + where - 1 - place) // where for place in range(where)])
    ends: list[Int | None] = [*where, None]
    starts: list[Int | None] = [None, *where]
    found: list[Shape] = []
    for start, end in zip(starts, ends):
        first, length, _ = sliced(env, size, slice(start, end))
        sizes = replaced(x, axis, length)
        strides = x.strides
        offset = None if strides is None else x.storage_offset + first * strides[axis]
        found.append(viewed(x, sizes, strides, offset))
    return Outputs(found)


def _split_along(env: ShapeEnv, x: Shape, where: Int | Sequence[Int], axis: int) -> Outputs:
    """Pieces of one length, or pieces that end at the given indices."""
    if not isinstance(where, Sequence):
        where = _sections(env, where)
        env.require(x[axis] % where == 0, "the axis is not a multiple of the number of pieces")
        return pieces(x, axis, [x[axis] // where] * where)
    return _tensor_split(env, x, where, axis)


@rule("hsplit")
def hsplit(env: ShapeEnv, input: Shape, indices_or_sections: Int | Sequence[Int]) -> Outputs:
    """Pieces along the second axis, or the only one."""
    expect_axes(input, 1, "input")
    return _split_along(env, input, indices_or_sections, min(len(input) - 1, 1))


@rule("vsplit")
def vsplit(env: ShapeEnv, input: Shape, indices_or_sections: Int | Sequence[Int]) -> Outputs:
    """Pieces along the first axis."""
    expect_axes(input, 2, "input")
    return _split_along(env, input, indices_or_sections, 0)


@rule("dsplit")
def dsplit(env: ShapeEnv, input: Shape, indices_or_sections: Int | Sequence[Int]) -> Outputs:
    """Pieces along the third axis."""
    expect_axes(input, 3, "input")
    return _split_along(env, input, indices_or_sections, 2)
