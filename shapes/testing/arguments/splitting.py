"""Arguments of operators that cut tensors into pieces.

>>> from hypothesis import find
>>> from shapes.testing.arguments.splitting import lengths_of
>>> find(lengths_of(5), lambda lengths: lengths == [0, 0, 5])
[0, 0, 5]
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import among, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import seldom, sizes, slipped, some_axis, with_axes
from shapes.testing.arguments.views import laid_out
from shapes.testing.calls import Call

WITH_AXES = with_axes(3).flatmap(laid_out)


@st.composite
def lengths_of(draw: st.DrawFn, size: int) -> list[int]:
    """Lengths that mostly add up to a size."""
    ends = sorted([draw(st.integers(0, size)) for _ in range(draw(st.integers(0, 2)))])
    return list(slipped(draw, [end - start for start, end in zip([0, *ends], [*ends, size])]))


@st.composite
def axis_and_size(draw: st.DrawFn, x: tuple[int, ...]) -> tuple[int, int]:
    """An axis and how long it is."""
    axis = some_axis(draw, len(x))
    return axis, x[axis] if -len(x) <= axis < len(x) else 3


@calls_of("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes")
def of_split(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    axis, size = draw(axis_and_size(x))
    where: object = draw(lengths_of(size))
    if name == "unsafe_split" or name == "split" and draw(st.booleans()):
        where = draw(st.sampled_from((1, 2, 3, 4, 5, 0, 7, -1)))
    return Call((draw(laid_out(x)), where, axis))


calls_of_tensor(WITH_AXES, "chunk", "unsafe_chunk", then=(among(1, 2, 3, 4, 7, 0), some_axis))


calls_of_tensor(WITH_AXES, "unbind", then=(some_axis,))


@calls_of("tensor_split", "hsplit", "vsplit", "dsplit")
def of_tensor_split(draw: st.DrawFn, name: str) -> Call:
    place = {"hsplit": 1, "vsplit": 0, "dsplit": 2}.get(name)
    x = draw(sizes(0, 3) if place is None or seldom(draw) else sizes(max(place, 1 + (name == "vsplit")), 4))
    where: object = draw(st.integers(-1, 5) if seldom(draw) else st.integers(1, 5))
    axis = min(place or 0, len(x) - 1)
    if place is not None and x and draw(st.booleans()):
        where = draw(st.sampled_from([part for part in range(1, x[axis] + 1) if x[axis] % part == 0] or [1]))
    if draw(st.booleans()):
        where = draw(st.lists(st.integers(-7, 7), max_size=3))
    return Call((draw(laid_out(x)), where, *([] if place is not None else [some_axis(draw, len(x))])))
