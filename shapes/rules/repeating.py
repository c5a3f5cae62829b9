"""Repetition, rolls, flips and rotations.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> rules["repeat"](env, (b, s), 4, 1, b), rules["tile"](env, (b, s), (2,))
    (Shape(4, b, b*s), Shape(b, 2*s))
    >>> rules["rot90"](env, (b, s, 8), 3, (1, 2))
    Shape(b, 8, s)
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import is_empty
from shapes.errors import ShapeError
from shapes.rules.axes import axes_of
from shapes.rules.expectations import expect_axes
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import at_least
from shapes.rules.views import Sizes, numbers_of
from shapes.symbolic.choices import Int


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
