"""Sizes of a reshaped tensor.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.reshaping import reshaped
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, h = env.sizes("b s h", lo=1)
    >>> reshaped(env, (b, s, 64 * h), (b, s, -1, 64)), reshaped(env, (b, s, h), (-1, 8))
    ((b, s, h, 64), (b*h*s//8, 8))
    >>> [guard.text for guard in env.guards()]
    ['b*h*s % 8 == 0']

Sizes that stay cancel, so that what is required is about the others alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules.axes import replaced
from shapes.rules.broadcasting import same
from shapes.rules.structure import at_least, is_positive, simplified
from shapes.symbolic.choices import Int, sym_or


def reshaped(env: ShapeEnv, sizes: Sequence[Int], target: Sequence[Int]) -> tuple[Int, ...]:
    """The target, with a -1 resolved; the number of elements has to stay the same."""
    missing = _missing(env, target)
    left, wanted, common = _cancelled(sizes, [size for axis, size in enumerate(target) if axis != missing])
    if missing is not None:
        for size in (*wanted, *common):
            if not is_positive(size):
                env.require(size >= 1, "beside an empty axis, a size of -1 could be any")
        return replaced(target, missing, _divided(env, numel(left), numel(wanted)))
    before, after = numel(left), numel(wanted)
    if not same(before, after):
        empty = [size == 0 for size in common if not is_positive(size)]
        env.require(sym_or(before == after, *empty), "the number of elements is another one")
    return tuple(target)


def _missing(env: ShapeEnv, target: Sequence[Int]) -> int | None:
    """The axis of which the size is left open."""
    missing = None
    for axis, size in enumerate(target):
        if isinstance(size, int):
            if size == -1:
                if missing is not None:
                    raise ShapeError("only one size can be -1")
                missing = axis
            elif size < 0:
                raise ShapeError(f"size {size} of axis {axis} is negative")
        elif not at_least(size, 0):
            env.require(size >= 0, "a size is negative")
    return missing


def _cancelled(sizes: Sequence[Int], target: Sequence[Int]) -> tuple[list[Int], list[Int], list[Int]]:
    """The sizes that only the one has, that only the other has, and that both have."""
    left, wanted, common = list(sizes), list[Int](), list[Int]()
    for size in target:
        place = next((place for place, one in enumerate(left) if same(one, size)), None)
        if place is None:
            wanted.append(size)
        else:
            common.append(left.pop(place))
    return left, wanted, common


def _divided(env: ShapeEnv, whole: Int, part: Int) -> Int:
    """A quotient that has to be exact, by a number that is not zero."""
    if isinstance(part, int) and part == 1:
        return whole
    rest = simplified(whole % part, whole, part)
    env.require(rest == 0, "the number of elements is not a multiple of the given sizes")
    return simplified(whole // part, whole, part)
