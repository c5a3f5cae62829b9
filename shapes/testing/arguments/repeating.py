"""Arguments of operators that repeat, shift or flip."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import seldom, sizes, some_axes, some_axis
from shapes.testing.calls import Call, Input


def repeats_for(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """How often each size is repeated; further numbers in front, now and then too few or a negative one."""
    number = max(rank + draw(st.sampled_from((0, 0, 0, 1, 2, -1))), 0)
    least = -1 if seldom(draw) else 0
    return tuple([draw(st.integers(least, 3)) for _ in range(number)])


calls_of_tensor(sizes(0, 3).map(Input), "repeat", "tile", then=(repeats_for,))


@calls_of("roll")
def of_roll(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 3))
    if draw(st.integers(0, 3)) == 0:
        shifts = st.one_of(st.integers(-5, 5), st.just((1, 2)), st.just((1,)))
        return Call((Input(x), draw(shifts)))
    axes = some_axes(draw, len(x))
    if isinstance(axes, int):
        return Call((Input(x), draw(st.integers(-5, 5)), axes))
    number = len(axes) + seldom(draw)
    return Call((Input(x), tuple([draw(st.integers(-5, 5)) for _ in range(number)]), axes))


@calls_of("flip")
def of_flip(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 4))
    axes = some_axes(draw, len(x))
    return Call((Input(x), (axes,) if isinstance(axes, int) else axes))


calls_of_tensor(sizes(0, 3).map(Input), "fliplr", "flipud")


@calls_of("rot90")
def of_rot90(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0 if seldom(draw) else 2, 4))
    axes = [*draw(st.permutations(range(len(x)))), 0, 1][:2]
    turned = [axis - len(x) if draw(st.booleans()) else axis for axis in axes]
    if seldom(draw):
        turned = [some_axis(draw, len(x)) for _ in range(2)]
    elif seldom(draw):
        turned = [*range(len(x))][:3]
    return Call((Input(x), draw(st.integers(-5, 5)), tuple(turned)))
