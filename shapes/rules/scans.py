"""Scans along an axis: running sums and extremes, differences, integrals and derivatives.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> rules["cumsum"](env, (b, s), dim=1)
    Shape(b, s)
    >>> rules["diff"](env, (b, s), n=2)
    Shape(b, max(s - 2, 0))
    >>> rules["trapezoid"](env, (b, s), (s,))
    Shape(b)
    >>> env.guards()
    ()
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.rules.axes import axes_of, axis_of, replaced, without
from shapes.rules.broadcasting import agree, broadcast, known, same
from shapes.rules.expectations import expect_one_of
from shapes.rules.promotion import floating, named, summed
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, Real, sym_and, sym_ite, sym_max, sym_or

SAMPLES = "x: expected one for each sample of y"


@rule("cumsum", "cumprod")
def cumsum(env: ShapeEnv, input: Shape, dim: int, *, dtype: object = None) -> Shape:
    """The sizes of the input."""
    axis_of(dim, len(input))
    return Shape(input, dtype=summed(input.dtype) if dtype is None else named(dtype))


@rule("logcumsumexp")
def logcumsumexp(env: ShapeEnv, input: Shape, dim: int) -> Shape:
    """The sizes of the input."""
    axis_of(dim, len(input))
    return Shape(input, dtype=input.dtype)


@rule("cummax", "cummin")
def cummax(env: ShapeEnv, input: Shape, dim: int) -> tuple[Shape, Shape]:
    """The sizes of the input, for values and indices."""
    axis_of(dim, len(input))
    return Shape(input, dtype=input.dtype), Shape(input, dtype="int64")


@rule("diff")
def diff(
    env: ShapeEnv, input: Shape, n: int = 1, dim: int = -1, prepend: Shape | None = None, append: Shape | None = None
) -> Shape:
    """The sizes with the axis shorter by n, as far as it goes; what is put before and behind counts."""
    env.require(len(input) > 0, "input: expected at least one axis")
    env.require(n >= 0, "n: expected 0 or more")
    ends = [end for end in (prepend, append) if end is not None]
    if n == 0 and not ends:
        return Shape(input, dtype=input.dtype)
    axis = axis_of(dim, len(input))
    length = input[axis]
    for end in ends:
        env.require(len(end) == len(input), "prepend and append: expected as many axes as the input has")
        for position, (size, other) in enumerate(zip(input, end)):
            if position != axis:
                agree(env, size, other, "prepend and append: sizes differ from the input's")
        if n:
            length = length + end[axis]
    return Shape(replaced(input, axis, shorter(length, n)), dtype=input.dtype)


def shorter(size: Int, by: int) -> Int:
    """The size less a number, but at least 0."""
    rest = size - by
    if isinstance(rest, int):
        return max(rest, 0)
    least, _ = rest.env.known.bounds(rest.expr)
    return rest if least is not None and least >= 0 else sym_max(rest, 0)


@rule("trapezoid", "trapz")
def trapezoid(env: ShapeEnv, y: Shape, x: Shape | None = None, *, dx: Real = 1, dim: int = -1) -> Shape:
    """The sizes without the axis that is integrated over; x may bring more by broadcasting."""
    env.require(len(y) > 0, "y: expected at least one axis")
    axis = axis_of(dim, len(y))
    rest = without(y, (axis,))
    if x is None:
        return Shape(rest, dtype=floating(y.dtype))
    empty = known(env, y[axis] == 0)
    if empty:
        return Shape(rest)
    if len(x) == 1:
        if not same(x[0], y[axis]):
            env.require(sym_or(y[axis] == 0, x[0] == y[axis]), SAMPLES)
        return Shape(rest)
    if empty is False or len(x) > len(y):
        env.require(y[axis] != 0, "y: expected samples")
        return Shape(without(_strips(env, y, x, axis), (axis,)))
    # without samples x does not count
    padded = (*[1] * (len(y) - len(x)), *x)
    sizes: list[Int] = []
    for position, (size, other) in enumerate(zip(y, padded)):
        if position == axis:
            # strips between samples, of which there are one or more: none from a single one, nor from none
            fits = sym_or(size == 0, size == other, size == 2, other == 2, sym_and(size == 1, other == 0))
            env.require(fits, SAMPLES)
        else:
            env.require(sym_or(y[axis] == 0, size == other, size == 1, other == 1), SAMPLES)
            sizes.append(size if same(size, other) else sym_ite(sym_and(size == 1, y[axis] != 0), other, size))
    return Shape(sizes)


@rule("cumulative_trapezoid")
def cumulative_trapezoid(env: ShapeEnv, y: Shape, x: Shape | None = None, *, dx: Real = 1, dim: int = -1) -> Shape:
    """The sizes with the axis shorter by one; x may bring more by broadcasting."""
    env.require(len(y) > 0, "y: expected at least one axis")
    axis = axis_of(dim, len(y))
    if x is None:
        return Shape(replaced(y, axis, shorter(y[axis], 1)), dtype=floating(y.dtype))
    if len(x) == 1:
        agree(env, x[0], y[axis], SAMPLES)
        return Shape(replaced(y, axis, shorter(y[axis], 1)))
    return Shape(_strips(env, y, x, axis))


def _strips(env: ShapeEnv, y: Shape, x: Shape, axis: int) -> tuple[Int, ...]:
    """The sizes between neighbours of x (their differences), times that of y."""
    padded = (*[1] * (len(y) - len(x)), *x)
    between = [replaced(sizes, axis, shorter(sizes[axis], 1)) for sizes in (y, padded)]
    return broadcast(env, *between, message=SAMPLES)


@rule("gradient")
def gradient(
    env: ShapeEnv,
    input: Shape,
    *,
    spacing: Real | Sequence[Real] | Sequence[Shape] = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Shape, ...]:
    """The sizes of the input, once for each axis."""
    expect_one_of(edge_order, (1, 2), "edge_order")
    axes = axes_of(dim, len(input))
    env.require(len(input) > 0 or not axes, "input: expected at least one axis")
    for axis in axes:
        env.require(input[axis] > edge_order, "input: an axis is too short")
    if isinstance(spacing, list | tuple):
        env.require(len(spacing) == len(axes), "spacing: expected one for each axis")
        for axis, points in zip(axes, spacing):
            if isinstance(points, Shape):
                env.require(len(points) == 1, "spacing: expected vectors")
                # three points give one step on either side of the middle, which broadcasts
                if not same(points[0], input[axis]):
                    message = "spacing: expected a point for each element of the axis"
                    env.require(sym_or(points[0] == input[axis], points[0] == 3), message)
    return tuple([Shape(input, dtype=floating(input.dtype)) for _ in axes])
