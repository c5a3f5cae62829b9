"""Numbers of axes that mostly exist, and now and then do not.

>>> from hypothesis import strategies as st
>>> from shapes.testing.arguments.axes import some_axis
>>> st.composite(lambda draw: some_axis(draw, 3))().example()     # doctest: +SKIP
-2
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

WRONG: Final = st.sampled_from((False, False, True))
"""Whether a number is drawn that no axis has."""


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
