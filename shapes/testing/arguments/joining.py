"""Arguments of operators that put tensors beside each other, and that repeat, shift or flip.

>>> from hypothesis import find
>>> from shapes.testing.arguments.joining import parts
>>> tensors, axis = find(parts(1), lambda drawn: len(drawn[0]) == 2)
>>> len(tensors)
2
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import SIZE, seldom, sizes, slipped, some_axes, some_axis
from shapes.testing.calls import Call, Input


@st.composite
def parts(draw: st.DrawFn, least: int, most: int = 3) -> tuple[list[Input], int]:
    """Tensors that differ in one axis, and that axis; now and then an empty one of one axis is among them."""
    x = draw(sizes(least, most))
    axis = some_axis(draw, len(x))
    tensors: list[Input] = []
    for _ in range(draw(st.integers(1, 3))):
        part = list(x)
        if -len(part) <= axis < len(part):
            part[axis] = draw(SIZE)
        tensors.append(Input(slipped(draw, part)))
    if seldom(draw):
        tensors.insert(draw(st.integers(0, len(tensors))), Input((0,)))
    return tensors, axis


@calls_of("cat", "concat", "concatenate")
def of_cat(draw: st.DrawFn, name: str) -> Call:
    tensors, axis = draw(parts(0 if seldom(draw) else 1))
    if seldom(draw):
        tensors = draw(st.sampled_from([[], [*tensors, Input(())]]))
    return Call((tensors,)) if draw(st.integers(0, 4)) == 0 else Call((tensors, axis))


@calls_of("stack")
def of_stack(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 3))
    tensors = [Input(slipped(draw, x)) for _ in range(draw(st.integers(1, 3)))]
    if seldom(draw):
        tensors.append(Input((*x, 1)))
    return Call((tensors, some_axis(draw, len(x) + 1)))


@calls_of("hstack", "vstack", "row_stack", "dstack", "column_stack")
def of_stacks(draw: st.DrawFn, name: str) -> Call:
    place = {"hstack": 1, "dstack": 2, "column_stack": 1}.get(name, 0)
    x = draw(sizes(0, 4))
    axis = min(place, len(x) - 1) if name == "hstack" else place
    tensors: list[Input] = []
    for _ in range(draw(st.integers(1, 3))):
        part = list(x)
        if 0 <= axis < len(part) and (name == "hstack" or len(part) > 1):
            part[axis] = draw(SIZE)
        tensors.append(Input(slipped(draw, part)))
    if seldom(draw):
        tensors.append(Input(draw(sizes(0, 2))))
    return Call((tensors,))


@arguments_of("block_diag")
def of_block_diag(name: str) -> st.SearchStrategy[Call]:
    block = st.one_of(sizes(0, 2), sizes(0, 2), sizes(0, 2), sizes(0, 3)).map(Input)
    return st.lists(block, max_size=3).map(lambda blocks: Call(tuple(blocks)))


def repeats_for(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """The repeats of each size; further numbers in front, now and then too few or a negative one."""
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
