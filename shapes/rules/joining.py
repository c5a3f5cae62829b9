"""Concatenation and stacking, repetition, rolls, flips and rotations.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t = env.sizes("b s t")
    >>> rules["cat"](env, [(b, s, 8), (b, t, 8), (b, 1, 8)], dim=1)
    Shape(b, s + t + 1, 8)
    >>> rules["stack"](env, [(b, s), (b, t)], dim=-1)
    Shape(b, t, 2)
    >>> [guard.text for guard in env.guards()]
    ['s == t']

Torch passes over an empty tensor of one axis beside tensors of more: so does `cat`.

    >>> rules["repeat"](env, (b, s), 4, 1, b), rules["tile"](env, (b, s), (2,))
    (Shape(4, b, b*s), Shape(b, 2*s))
    >>> rules["rot90"](env, (b, s, 8), 3, (1, 2))
    Shape(b, 8, s)
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import is_empty, numel
from shapes.errors import ShapeError
from shapes.rules.axes import axes_of, axis_of
from shapes.rules.broadcasting import agree
from shapes.rules.expectations import expect_axes
from shapes.rules.promotion import promoted
from shapes.rules.registry import rule
from shapes.rules.shape import Shape, as_shape
from shapes.rules.structure import at_least
from shapes.rules.viewing import with_axes
from shapes.rules.views import Sizes, numbers_of
from shapes.symbolic.choices import Int, sym_and, sym_sum


def joined(env: ShapeEnv, tensors: Sequence[Shape], dim: int) -> Shape:
    """The sizes of the tensors added up along one axis; all others are the same."""
    if not tensors:
        raise ShapeError("expected at least one tensor")
    if any(not tensor for tensor in tensors):
        raise ShapeError("a tensor without axes cannot be joined")
    parts = tensors
    rank = max([len(tensor) for tensor in tensors])
    if any(len(tensor) != rank for tensor in tensors):
        for tensor in tensors:
            if len(tensor) == 1:
                env.require(tensor[0] == 0, "a tensor of one axis, and not empty, beside tensors of more axes")
        parts = [tensor for tensor in tensors if len(tensor) > 1]
        if any(len(tensor) < rank for tensor in parts):
            raise ShapeError("tensors of different numbers of axes")
    elif rank == 1 and not -1 <= dim < 1:
        # torch does not look at dim where there is nothing to join
        env.require(sym_and(*[tensor[0] == 0 for tensor in tensors]), "dim is none of the only axis")
        dim = 0
    axis = axis_of(dim, rank)
    sizes = list(parts[0])
    for part in parts[1:]:
        for other, size in enumerate(part):
            if other != axis:
                sizes[other] = agree(env, sizes[other], size, "axes differ that are not joined")
    sizes[axis] = sym_sum([part[axis] for part in parts])
    return Shape(sizes, dtype=promoted(*tensors))


@rule("cat", "concat", "concatenate")
def cat(env: ShapeEnv, tensors: Sequence[Shape], dim: int = 0) -> Shape:
    """The sizes of the tensors added up along one axis."""
    return joined(env, tensors, dim)


@rule("stack")
def stack(env: ShapeEnv, tensors: Sequence[Shape], dim: int = 0) -> Shape:
    """A new axis, as long as there are tensors."""
    if not tensors:
        raise ShapeError("expected at least one tensor")
    sizes: list[Int] = list(tensors[0])
    axis = axis_of(dim, len(sizes) + 1)
    for tensor in tensors[1:]:
        if len(tensor) != len(sizes):
            raise ShapeError("tensors of different numbers of axes")
        sizes = [agree(env, one, other, "tensors of different sizes") for one, other in zip(sizes, tensor)]
    return Shape((*sizes[:axis], len(tensors), *sizes[axis:]), dtype=promoted(*tensors))


@rule("hstack")
def hstack(env: ShapeEnv, tensors: Sequence[Shape]) -> Shape:
    """The second axis adds up; the only one if there is one."""
    rows = [with_axes(tensor, 1) for tensor in tensors]
    return joined(env, rows, 0 if rows and len(rows[0]) == 1 else 1)


@rule("vstack", "row_stack", schema="tensors", rank=2, axis=0)
@rule("dstack", schema="tensors", rank=3, axis=2)
def vstack(env: ShapeEnv, tensors: Sequence[Shape], rank: int, axis: int) -> Shape:
    """The first axis of matrices, or the third, adds up, where a tensor with fewer axes gets some of size 1."""
    return joined(env, [with_axes(tensor, rank) for tensor in tensors], axis)


@rule("column_stack")
def column_stack(env: ShapeEnv, tensors: Sequence[Shape]) -> Shape:
    """The second axis of matrices adds up, where a tensor of one axis is a column."""
    columns = [
        tensor if len(tensor) > 1 else Shape((numel(tensor), 1), dtype=tensor.dtype)
        for tensor in tensors
    ]  # fmt: skip
    return joined(env, columns, 1)


@rule("block_diag")
def block_diag(env: ShapeEnv, *tensors: Shape) -> Shape:
    """A matrix of as many rows and columns as all tensors together."""
    blocks = [as_shape(tensor) for tensor in tensors]
    if any(len(block) > 2 for block in blocks):
        raise ShapeError("a tensor of more than two axes")
    if not blocks:
        return Shape((1, 0))
    blocks = [with_axes(block, 2) for block in blocks]
    sizes = [sym_sum([block[axis] for block in blocks]) for axis in (0, 1)]
    return Shape(sizes, dtype=promoted(*tensors))


def repeated(env: ShapeEnv, x: Shape, repeats: Sequence[Int]) -> Shape:
    """Each size times its number of repeats; further numbers are for new axes in front."""
    new = len(repeats) - len(x)
    if new < 0:
        raise ShapeError(f"{len(repeats)} repeats for {len(x)} axes")
    sizes = [number if axis < new else number * x[axis - new] for axis, number in enumerate(repeats)]
    for number, size in zip(repeats, sizes):
        if not at_least(number, 0):
            env.require(size >= 0, "a number of repeats is negative")
    return Shape(sizes, dtype=x.dtype)


@rule("repeat")
def repeat(env: ShapeEnv, input: Shape, *repeats: Sizes) -> Shape:
    """Each size times its number of repeats; further numbers are for new axes in front."""
    return repeated(env, input, numbers_of(repeats))


@rule("tile")
def tile(env: ShapeEnv, input: Shape, *dims: Sizes) -> Shape:
    """Each size times its number of repeats, the last ones if there are fewer numbers than axes."""
    numbers = numbers_of(dims)
    return repeated(env, input, (*[1] * (len(input) - len(numbers)), *numbers))


@rule("roll")
def roll(
    env: ShapeEnv, input: Shape, shifts: Int | Sequence[Int], dims: int | Sequence[int] | None = None
) -> Shape:
    """The input's sizes."""
    number = len(shifts) if isinstance(shifts, Sequence) else 1
    axes = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    if not number or number != len(axes) and (axes or number > 1):
        raise ShapeError(f"{number} shifts for {len(axes)} axes")
    if not all(-len(input) <= axis < len(input) for axis in axes):
        # torch does not look at dims where there is nothing to roll
        env.require(is_empty(input), "dims names no axis")
    return Shape(input, dtype=input.dtype)


@rule("flip")
def flip(env: ShapeEnv, input: Shape, *dims: int | Sequence[int]) -> Shape:
    """The input's sizes."""
    axes_of([int(dim) for dim in numbers_of(dims)], len(input), "dims")
    return Shape(input, dtype=input.dtype)


@rule("fliplr")
def fliplr(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    expect_axes(input, 2, "input")
    return Shape(input, dtype=input.dtype)


@rule("flipud")
def flipud(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    expect_axes(input, 1, "input")
    return Shape(input, dtype=input.dtype)


@rule("rot90")
def rot90(env: ShapeEnv, input: Shape, k: int = 1, dims: Sequence[int] = (0, 1)) -> Shape:
    """Each rotation swaps the two axes."""
    if len(dims) != 2 or len(input) < 2:
        raise ShapeError(f"expected two dims and at least two axes, not {len(dims)} and {len(input)}")
    one, other = axes_of(dims, len(input), "dims")
    sizes = list(input)
    if k % 2:
        sizes[one], sizes[other] = sizes[other], sizes[one]
    return Shape(sizes, dtype=input.dtype)
