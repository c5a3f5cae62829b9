"""Arguments of operators that put tensors beside each other.

>>> from hypothesis import find
>>> from shapes.testing.arguments.joining import parts
>>> tensors, axis = find(parts(1), lambda drawn: len(drawn[0]) == 2)
>>> len(tensors)
2
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.mistakes import SIZE, seldom, sizes, slipped, some_axis
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
