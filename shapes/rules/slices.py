"""Slices: the first element and the number of elements that one takes of an axis.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.slices import sliced
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s, t = env.sizes("s t", lo=4)
    >>> sliced(env, s, slice(1, -1)), sliced(env, s, slice(None, 100, 2)), sliced(env, s, slice(t, None))
    ((1, s - 2, 1), (0, ceildiv(min(s, 100), 2), 2), (min(s, t), max(s - t, 0), 1))
    >>> sliced(env, s, slice(None, None, -1))
    (s - 1, s, -1)

As in Python, bounds below 0 count from the end, and those outside of the axis are moved to its end: by `min` and `max`,
so that one result stands for every size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapes.environment.layout import simple
from shapes.errors import ShapeError
from shapes.rules.broadcasting import known
from shapes.rules.structure import at_least
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_max, sym_min

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

    Slice = slice[Int | None, Int | None, Int | None]


def sliced(env: ShapeEnv, size: Int, part: Slice) -> tuple[Int, Int, Int]:
    """Start, number of elements and step of a slice."""
    step: Int = 1 if part.step is None else part.step
    if not isinstance(step, int):
        env.require(step >= 1, "a step is not positive")
    elif step == 0:
        raise ShapeError("a step is 0")
    elif step < 0:
        return _backwards(env, size, part, step)
    start, stop = part.start, part.stop
    if start is None or isinstance(start, int) and start == 0:
        first: Int = 0
        last = size if stop is None else clamped(env, size, stop)
        return 0, _steps(last, step), step
    last = size if stop is None else clamped(env, size, stop)
    first = clamped(env, size, start)
    if stop is None and _is_backward(env, start) is True:
        return first, _steps(least(size, -start), step), step
    # a start behind the end gives nothing, as any start there does
    length = above(last - (start if _is_backward(env, start) is False else first))
    return first, _steps(length, step), step


def _backwards(env: ShapeEnv, size: Int, part: Slice, step: int) -> tuple[Int, Int, Int]:
    """A slice from the end towards the front."""
    first = size - 1 if part.start is None else clamped(env, size, part.start, offset=-1)
    last: Int = -1 if part.stop is None else clamped(env, size, part.stop, offset=-1)
    return first, _steps(above(first - last), -step), step


def clamped(env: ShapeEnv, size: Int, bound: Int, offset: int = 0) -> Int:
    """A bound as an index from 0 to the size; with an offset of -1, from -1 to the last element."""
    backward = _is_backward(env, bound)
    if backward is True:
        return above(size + bound, offset)
    forward = least(size + offset, bound)
    return forward if backward is False else sym_ite(backward, above(size + bound, offset), forward)


def above(value: Int, limit: int = 0) -> Int:
    """At least so much."""
    return value if at_least(value, limit) else sym_max(value, limit)


def least(a: Int, b: Int) -> Int:
    """The smaller of two numbers; the second one where bounds tell that."""
    return b if at_least(a - b, 0) else sym_min(a, b)


def _is_backward(env: ShapeEnv, bound: Int) -> Truth:
    """Whether a bound counts from the end."""
    if at_least(bound, 0):
        return False
    backward = bound < 0
    decided = known(env, backward)
    return simple(backward) if decided is None else decided


def _steps(length: Int, step: Int) -> Int:
    """How many elements are so many apart within a length."""
    if isinstance(step, int) and step == 1:
        return length
    return -(-length // step)
