"""Sizes, axes and options that mostly fit, and now and then do not, so that refused calls come up as well.

>>> from hypothesis import strategies as st
>>> from shapes.testing.arguments.mistakes import sizes, slipped
>>> st.composite(lambda draw: slipped(draw, draw(sizes(2))))().example()     # doctest: +SKIP
(3, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from shapes.testing.calls import Input

SIZE: Final = st.sampled_from((2, 3, 4, 1, 5, 0))
"""One size, small, with the edges among them."""
WRONG: Final = st.sampled_from((False, False, True))
"""Draws whether to use a number that no axis has."""


def sizes(least: int, most: int | None = None) -> st.SearchStrategy[tuple[int, ...]]:
    """The sizes of a tensor with `least` to `most` axes."""
    return st.lists(SIZE, min_size=least, max_size=least if most is None else most).map(tuple)


ANY: Final = sizes(0, 4).map(Input)
"""A tensor."""


@st.composite
def with_axes(draw: st.DrawFn, most: int) -> tuple[int, ...]:
    """The sizes of a tensor that has axes, now and then of one that has none."""
    return draw(sizes(0 if seldom(draw) else 1, most))


def seldom(draw: st.DrawFn) -> bool:
    """Draw True in about one of eight cases."""
    return draw(st.integers(0, 7)) == 7


def slipped(draw: st.DrawFn, fitting: Sequence[int]) -> tuple[int, ...]:
    """The sizes, now and then with one changed, left out or added."""
    result = list(fitting)
    if draw(st.integers(0, 11)) < 11:
        return tuple(result)
    axis = draw(st.integers(0, max(len(result) - 1, 0)))
    match draw(st.integers(0, 3)):
        case 0:
            result.insert(axis, draw(SIZE))
        case 1 if result:
            result.pop(axis)
        case _ if result:
            result[axis] = draw(SIZE)
    return tuple(result)


def narrowed(draw: st.DrawFn, target: Sequence[int]) -> tuple[int, ...]:
    """Sizes that broadcast to a target: fewer axes, or some of size 1."""
    kept = target[draw(st.integers(0, len(target))) :] if draw(st.booleans()) else target
    return tuple([1 if draw(st.integers(0, 3)) == 0 else size for size in kept])


def some_axis(draw: st.DrawFn, rank: int) -> int:
    """The number of an axis, from the front or from the back."""
    bound = max(rank, 1)
    if draw(WRONG):
        return draw(st.sampled_from((bound, -bound - 1)))
    return draw(st.integers(-bound, bound - 1))


def some_axes(draw: st.DrawFn, rank: int) -> int | tuple[int, ...]:
    """One axis, or several, now and then one of them twice."""
    if draw(st.booleans()):
        return some_axis(draw, rank)
    bound = max(rank, 1)
    different = draw(WRONG) is False
    axes = draw(st.lists(st.integers(0, bound - 1), unique=different, max_size=bound))
    return tuple([axis - bound if draw(st.booleans()) else axis for axis in axes])


def optional(draw: st.DrawFn, **options: object) -> dict[str, object]:
    """Some of these."""
    return {name: value for name, value in options.items() if draw(st.booleans())}


def chosen(draw: st.DrawFn, **strategies: st.SearchStrategy[object]) -> dict[str, object]:
    """Some of these options, each drawn if it is among them."""
    return {name: draw(strategy) for name, strategy in strategies.items() if draw(st.booleans())}
