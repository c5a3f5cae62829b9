"""Arguments of indexing and slicing: bounds on either side of an axis, new axes, and what stands for all others.

>>> from hypothesis import find
>>> from shapes.testing.arguments.slicing import indices
>>> index = find(indices((2, 3), backwards=True), lambda index: len(index) == 2 and isinstance(index[1], slice))
>>> isinstance(index[1], slice)
True
"""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.mistakes import seldom, sizes, slipped, some_axis, with_axes
from shapes.testing.arguments.splitting import axis_and_size
from shapes.testing.arguments.views import laid_out, strided_within
from shapes.testing.calls import Call, Input

BOUND = st.one_of(st.none(), st.integers(-7, 7))
STEP = st.sampled_from((None, 1, 2, 3, 7, None, 1, 2, 3, 7, 0))


@st.composite
def place_in(draw: st.DrawFn, size: int) -> int:
    """A place of an axis, mostly one that it has."""
    if size == 0 or seldom(draw):
        return draw(st.sampled_from((size, -size - 1)))
    return draw(st.integers(-size, size - 1))


@st.composite
def indices(draw: st.DrawFn, x: tuple[int, ...], *, backwards: bool, tensors: bool = False) -> tuple[object, ...]:
    """The items in the brackets behind a tensor."""
    if tensors and len(x) > 2 and x[2] and seldom(draw):
        # one number picks as often as a mask has True
        return Input(x[:2], dtype="bool"), Input(draw(st.sampled_from(((), (1,)))), dtype="int64")
    step = STEP
    if backwards or draw(st.integers(0, 4)) == 0:
        step = st.sampled_from((None, 1, 2, 3, -1, -2, -3, 0)) if seldom(draw) else st.sampled_from((None, 2, -1, 0))
    items: list[object] = []
    with_tensor = tensors and seldom(draw)
    for size in x[: draw(st.integers(0, len(x)))]:
        if with_tensor and draw(st.booleans()):
            items.append(Input(draw(st.sampled_from(((), (2,), (1, 2), (0,)))), dtype="int64"))
        elif draw(st.integers(0, 2)) == 0:
            items.append(draw(place_in(size)))
        else:
            items.append(draw(st.builds(slice, BOUND, BOUND, step)))
    if seldom(draw):
        items.append(draw(place_in(2)))
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ...)
        if tensors and seldom(draw):
            items.insert(draw(st.integers(0, len(items))), ...)
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def indexed(draw: st.DrawFn, *, backwards: bool, tensors: bool = False) -> Call:
    """A tensor and an index, which need not be in a tuple if it is one item."""
    x = draw(sizes(0, 4))
    index: object = draw(indices(x, backwards=backwards, tensors=tensors))
    if isinstance(index, tuple) and len(index) == 1 and draw(st.booleans()):
        index = index[0]
    return Call((Input(x) if backwards else draw(laid_out(x)), index))


def _fits_masks(call: Call) -> bool:
    """Return True if several numbers fit the number of True elements of a mask, which no sizes tell."""
    tensors = list(call.inputs())[1:]
    return all(each.dtype != "bool" for each in tensors) or all(
        each.dtype == "bool" or set(each) <= {1} for each in tensors
    )


@arguments_of("getitem", only=_fits_masks)
def of_getitem(name: str) -> st.SearchStrategy[Call]:
    return indexed(backwards=False, tensors=True)


@calls_of("narrow", "narrow_copy")
def of_narrow(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    axis, size = draw(axis_and_size(x))
    start = draw(st.integers(-size, size))
    length = draw(st.integers(0, size - start if start >= 0 else -start))
    if seldom(draw):
        start, length = draw(st.integers(-6, 6)), draw(st.integers(-1, 6))
    return Call((draw(laid_out(x)), axis, start, length))


@calls_of("select")
def of_select(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    axis, size = draw(axis_and_size(x))
    return Call((draw(laid_out(x)), axis, draw(place_in(size))))


@calls_of("slice_scatter")
def of_slice_scatter(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    axis, size = draw(axis_and_size(x))
    start, end, step = draw(BOUND), draw(BOUND), draw(st.sampled_from((1, 1, 2, 3)))
    part = list(x)
    if -len(x) <= axis < len(x):
        part[axis] = len(range(size)[start:end:step])
    step = draw(st.sampled_from((0, -1))) if seldom(draw) else step
    return Call((Input(x), Input(slipped(draw, part)), axis, start, end, step))


@calls_of("select_scatter")
def of_select_scatter(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    axis, size = draw(axis_and_size(x))
    part = list(x)
    if -len(x) <= axis < len(x):
        part.pop(axis)
    return Call((Input(x), Input(slipped(draw, part)), axis, draw(place_in(size))))


@calls_of("diagonal_scatter")
def of_diagonal_scatter(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(1 if seldom(draw) else 2, 4))
    offset = draw(st.integers(-4, 4))
    one, other = [*draw(st.permutations(range(len(x)))), 0][:2]
    rows, columns = x[one], x[other]
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    part = [*[size for axis, size in enumerate(x) if axis not in (one, other)], length]
    if seldom(draw):
        one = some_axis(draw, len(x))
    return Call((Input(x), Input(slipped(draw, part)), offset, one, other - len(x)))


@calls_of("as_strided_scatter")
def of_as_strided_scatter(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    size, strides, offset = draw(strided_within(prod(x)))
    return Call((Input(x), Input(slipped(draw, size)), size, strides, offset))
