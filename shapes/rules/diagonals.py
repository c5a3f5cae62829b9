"""Diagonals: extracted, embedded, and the triangles on either side.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t = env.sizes("b s t")
    >>> rules["diagonal"](env, (b, s, t), offset=1, dim1=1, dim2=2)
    Shape(b, max(min(s, t - 1), 0))
    >>> rules["diag_embed"](env, (b, s), offset=-2)
    Shape(b, s + 2, s + 2)
"""

from __future__ import annotations

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, without
from shapes.rules.expectations import expect_axes, expect_rank
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, sym_ite, sym_max, sym_min


@rule("trace")
def trace(env: ShapeEnv, input: Shape) -> Shape:
    """A number from a matrix."""
    expect_rank(input, 2, "input")
    return Shape(())


@rule("tril", "triu")
def triangle(env: ShapeEnv, input: Shape, diagonal: Int = 0) -> Shape:
    """As the input."""
    expect_axes(input, 2, "input")
    return Shape(input, dtype=input.dtype)


@rule("diagonal")
def diagonal(env: ShapeEnv, input: Shape, offset: Int = 0, dim1: int = 0, dim2: int = 1) -> Shape:
    """The other axes, then as many as the diagonal has."""
    first, second = _two_axes(dim1, dim2, len(input))
    length = _length(input[first], input[second], offset)
    sizes = (*without(input, (first, second)), length)
    if input.strides is None:
        return Shape(sizes, dtype=input.dtype)
    across, down = input.strides[second], input.strides[first]
    skipped = sym_max(offset, 0) * across + sym_max(-offset, 0) * down
    return Shape(
        sizes,
        dtype=input.dtype,
        strides=(*without(input.strides, (first, second)), across + down),
        storage_offset=input.storage_offset + sym_ite(length > 0, skipped, 0),
    )


@rule("linalg.diagonal")
def linalg_diagonal(env: ShapeEnv, A: Shape, *, offset: Int = 0, dim1: int = -2, dim2: int = -1) -> object:
    """The other axes, then as many as the diagonal has."""
    return diagonal(env, A, offset, dim1, dim2)


def _length(rows: Int, columns: Int, offset: Int) -> Int:
    """The number of elements of a diagonal; above the main one for a positive offset."""
    if isinstance(offset, int) and offset == 0:
        return sym_min(rows, columns)
    return sym_max(sym_min(rows + sym_min(offset, 0), columns - sym_max(offset, 0)), 0)


def _two_axes(dim1: int, dim2: int, rank: int) -> tuple[int, int]:
    if rank < 2:
        raise ShapeError(f"input: expected at least 2 axes, not {rank}")
    first, second = axis_of(dim1, rank, "dim1"), axis_of(dim2, rank, "dim2")
    if first == second:
        raise ShapeError(f"dim1={dim1}, dim2={dim2}: they are the same axis")
    return first, second


@rule("diag_embed")
def diag_embed(env: ShapeEnv, input: Shape, offset: Int = 0, dim1: int = -2, dim2: int = -1) -> Shape:
    """One axis more: two that hold the last one as a diagonal, at the places given."""
    expect_axes(input, 1, "input")
    side = input[-1] + (abs(offset) if isinstance(offset, int) else sym_max(offset, -offset))
    sizes: list[Int] = list(input[:-1])
    for axis in sorted(_two_axes(dim1, dim2, len(input) + 1)):
        sizes.insert(axis, side)
    return Shape(sizes, dtype=input.dtype)


@rule("diag")
def diag(env: ShapeEnv, input: Shape, diagonal: Int = 0) -> Shape:
    """A matrix with this diagonal, or the diagonal of a matrix."""
    if len(input) == 1:
        return _matrix_around(input[0], diagonal, input.dtype)
    expect_rank(input, 2, "input")
    return Shape((_length(input[0], input[1], diagonal),), dtype=input.dtype)


@rule("diagflat")
def diagflat(env: ShapeEnv, input: Shape, offset: Int = 0) -> Shape:
    """A matrix with all elements on a diagonal."""
    return _matrix_around(numel(input), offset, input.dtype)


def _matrix_around(length: Int, offset: Int, dtype: str | None) -> Shape:
    side = length + (abs(offset) if isinstance(offset, int) else sym_max(offset, -offset))
    return Shape((side, side), dtype=dtype)


@rule("vander")
def vander(env: ShapeEnv, x: Shape, N: Int | None = None, increasing: bool = False) -> Shape:
    """The powers of each element, N of them or as many as there are elements."""
    expect_rank(x, 1, "x")
    if N is None:
        return Shape((x[0], x[0]))
    env.require(N >= 0, "N: expected no negative number")
    return Shape((x[0], N))


@rule("linalg.vander")
def linalg_vander(env: ShapeEnv, x: Shape, *, N: Int | None = None) -> Shape:
    """The powers of each element, N of them or as many as the last axis has."""
    sizes = tuple(x) or (1,)
    powers = sizes[-1] if N is None else N
    env.require(powers > 1, "N: expected more than 1")
    return Shape((*sizes, powers))
