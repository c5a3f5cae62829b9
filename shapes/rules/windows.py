"""Sliding windows along an axis: their number, and arguments given once or once an axis.

>>> from shapes import ShapeEnv
>>> from shapes.rules.windows import per_axis, window_count, window_reach
>>> env = ShapeEnv(origin=lambda: None)
>>> s, k = env.sizes("s k", lo=1)
>>> per_axis(2, 3, "stride"), per_axis((1, 2), 2, "padding")
((2, 2, 2), (1, 2))
>>> window_reach(3, dilation=2), window_reach(k, dilation=2)
(5, 2*k - 1)
>>> window_count(s + 2, window_reach(3), stride=2)
ceildiv(s, 2)
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int


def per_axis(value: Int | Sequence[Int], axes: int, name: str) -> tuple[Int, ...]:
    """One number for each axis; a single one stands for all.

    Raises:
        ShapeError: there are too few or too many.
    """
    if not isinstance(value, tuple | list):
        return (value,) * axes  # type: ignore[return-value]
    if len(value) == axes:
        return tuple(value)
    if len(value) == 1:
        return tuple(value) * axes
    raise ShapeError(f"{name}: expected one number or {axes}, not {len(value)}")


def exactly(value: Int | Sequence[Int], axes: int, name: str) -> tuple[Int, ...]:
    """One number for each axis; a single one stands for all, but not if it comes in a list.

    Raises:
        ShapeError: there are too few or too many.
    """
    if isinstance(value, tuple | list) and len(value) != axes:
        raise ShapeError(f"{name}: expected one number or {axes}, not {len(value)}")
    return per_axis(value, axes, name)


def split(x: Shape, axes: int, name: str = "input") -> tuple[tuple[Int, ...], Int, tuple[Int, ...]]:
    """Batch, which may be missing, channels, and so many sizes.

    Raises:
        ShapeError: it has another rank.
    """
    if not axes + 1 <= len(x) <= axes + 2:
        raise ShapeError(f"{name} has {len(x)} axes: expected {axes + 1} or {axes + 2}")
    return x[: -axes - 1], x[-axes - 1], x[-axes:]


def reaches(value: Int, least: Int) -> bool:
    """Return True if a number is known to be at least another one, from plain numbers and ranges alone."""
    if not isinstance(least, int):
        return False
    if isinstance(value, int):
        return value >= least
    lo = value.env.known.bounds(value.expr)[0]
    return lo is not None and lo >= least and value.domain is value.operations.true


def require_at_least(env: ShapeEnv, value: Int, least: Int, message: str) -> None:
    """Require a least value; most are known from their ranges, which is quicker than to ask."""
    if not reaches(value, least):
        env.require(value >= least, message)


def positive(env: ShapeEnv, values: Sequence[Int], message: str) -> None:
    """Require that there is at least one of each."""
    for value in values:
        if not reaches(value, 1):
            env.require(value >= 1, message)


def at_least(env: ShapeEnv, values: Sequence[Int], least: int, name: str) -> None:
    """Require a least value of each number of an argument."""
    for value in values:
        if not isinstance(value, int):
            require_at_least(env, value, least, f"{name}: expected at least {least}")
        elif value < least:
            raise ShapeError(f"{name}={value}: expected at least {least}")


def window_reach(kernel: Int, dilation: Int = 1) -> Int:
    """From a window's first element to its last, both counted."""
    return dilation * (kernel - 1) + 1


def window_count(size: Int, reach: Int, stride: Int) -> Int:
    """The number of windows in an axis that is at least as long as their reach."""
    return (size - reach) // stride + 1
