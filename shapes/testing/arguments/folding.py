"""Calls of operators that take blocks out of an axis, or put them back.

>>> from hypothesis import find
>>> from shapes.testing.arguments import arguments_for
>>> find(arguments_for("Tensor.unfold"), lambda call: call.args[1] == -1).args[1]
-1
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import chosen
from shapes.testing.arguments.windows import Draw, each, mostly, once_or_each, seldom, spoiled
from shapes.testing.calls import Call, Input

OPTIONS = {"dilation": ((1, 1, 2), 0), "padding": ((0, 1, 2), -1), "stride": ((1, 2, 3), 0)}
"""The usual numbers of each option, and one that is refused."""


def _options(draw: Draw) -> dict[str, object]:
    return chosen(draw, **{name: once_or_each(mostly(usual, (wrong,)), 2) for name, (usual, wrong) in OPTIONS.items()})


@calls_of("unfold")
def taken(draw: Draw, name: str) -> Call:
    """An image and a kernel."""
    batch = draw(st.sampled_from(((), (0,), (1,), (2,))))
    channels = draw(mostly((1, 2, 3), (0,)))
    sizes = [draw(mostly((3, 4, 5, 6), (0, 1, 2), 15)) for _ in range(2)]
    kernel = draw(once_or_each(mostly((1, 2, 3), (0,)), 2))
    image = draw(spoiled((*batch, channels, *sizes)))
    if draw(seldom()):
        image = draw(st.sampled_from((tuple(sizes), (1, 1, *image))))
    return Call((Input(image), kernel), _options(draw))


@calls_of("fold")
def put_back(draw: Draw, name: str) -> Call:
    """Blocks as an image of some size has them."""
    kwargs = _options(draw)
    size = draw(once_or_each(mostly((3, 4, 5, 6), (0, 1, 2), 15), 2))
    kernel = draw(once_or_each(mostly((1, 2, 3), (0,)), 2))
    blocks = 1
    for axis in range(2):
        numbers = {}
        for option, default in (("dilation", 1), ("padding", 0), ("stride", 1)):
            value = kwargs.get(option, default)
            assert isinstance(value, int | tuple)
            numbers[option] = each(value, 2)[axis]
        extent, step = each(kernel, 2)[axis], max(numbers["stride"], 1)
        reach = numbers["dilation"] * (extent - 1) + 1
        blocks *= max((each(size, 2)[axis] + 2 * numbers["padding"] - reach) // step + 1, 0)
    batch = draw(st.sampled_from(((), (0,), (1,), (2,))))
    elements = each(kernel, 2)[0] * each(kernel, 2)[1]
    x = (*batch, draw(mostly((1, 2), (0,), 10)) * elements, blocks)
    if draw(seldom(12)):
        x = draw(st.sampled_from((x[-1:], (2, 1, *x[-2:]))))
    return Call((Input(draw(spoiled(x, 8, largest=10))), size, kernel), kwargs)


@calls_of("Tensor.unfold")
def windows(draw: Draw, name: str) -> Call:
    """An axis, a size and a step."""
    sizes = draw(st.lists(st.integers(0, 6), max_size=3))
    bound = max(len(sizes), 1)
    axis = draw(st.integers(-bound, bound - 1)) if not draw(seldom()) else draw(st.integers(-bound - 1, bound))
    most = sizes[axis] if sizes and -bound <= axis < bound else 1
    size = draw(st.integers(0, most)) if not draw(seldom(6)) else draw(st.sampled_from((-1, most + 1)))
    return Call((Input(sizes), axis, size, draw(st.sampled_from((1, 2, 3) * 5 + (0, -1)))))
