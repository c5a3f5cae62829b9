"""Arguments of operators that index with tensors.

    >>> from shapes.testing.arguments import arguments_for
    >>> arguments_for("gather").example()                   # doctest: +SKIP
    Call((Input((2, 3)), -1, Input((2, 5), dtype='int64')))

Indices are all 0, which is in range wherever an axis has elements; masks have given values, so that what is written
through them can be made to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from hypothesis import assume
from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import broadcast
from shapes.symbolic.choices import Int
from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.mistakes import SIZE, chosen, narrowed, seldom, sizes, slipped
from shapes.testing.calls import Call, Input

INDEX_DTYPES: Final = ("int64", "int64", "int64", "int64", "int64", "int32", "float32")


def axis(draw: st.DrawFn, rank: int) -> int:
    """An axis from either end, now and then out of range."""
    bound = max(rank, 1) + (1 if seldom(draw) else 0)
    return draw(st.integers(-bound, bound - 1))


def numbers(draw: st.DrawFn, fitting: Sequence[int]) -> Input:
    """A tensor of indices."""
    return Input(fitting, dtype=draw(st.sampled_from(INDEX_DTYPES)))


def other_dtype(draw: st.DrawFn) -> str:
    """The dtype of most tensors here, now and then another."""
    return "float64" if seldom(draw) and draw(st.booleans()) else "float32"


def _up_to(draw: st.DrawFn, sizes: Sequence[int], dim: int) -> tuple[int, ...]:
    """Sizes of an index: nowhere longer than a tensor but along an axis."""
    lengths = [draw(st.integers(0 if seldom(draw) else 1, max(size, 1))) for size in sizes]
    if sizes:
        lengths[dim % len(sizes)] = draw(SIZE)
    return tuple(lengths)


@calls_of("gather", "scatter", "scatter_add", "scatter_reduce")
def gathering(draw: st.DrawFn, name: str) -> Call:
    """An index with as many axes, and a source that covers it."""
    shape = draw(sizes(0, 3))
    dim = axis(draw, len(shape))
    lengths = slipped(draw, _up_to(draw, shape, dim))
    if not shape and draw(st.booleans()):
        lengths = (draw(SIZE),)
    args: list[object] = [Input(shape, dtype="float32"), dim, numbers(draw, lengths)]
    if name == "gather":
        return Call(tuple(args), {"sparse_grad": True} if seldom(draw) else {})
    source = Input(slipped(draw, [size + draw(st.integers(0, 1)) for size in lengths]), dtype=other_dtype(draw))
    if name != "scatter":
        if name == "scatter_add":
            return Call((*args, source))
        how = draw(st.sampled_from(("sum", "prod", "mean", "amax", "amin", "add")))
        return Call((*args, source, how), {"include_self": False} if draw(st.booleans()) else {})
    named: dict[str, object] = {}
    match draw(st.integers(0, 5)):
        case 0:
            named["value"] = Input(() if draw(st.integers(0, 3)) else (1,))
        case 1:
            args.append(1.5)
        case 2 if not seldom(draw):
            named["value"] = 2
        case _:
            args.append(source)
            if seldom(draw) and seldom(draw):
                named["value"] = 2
    if draw(st.integers(0, 3)) == 0:
        named["reduce"] = draw(st.sampled_from(("add", "multiply", "sum")))
    return Call(tuple(args), named)


@calls_of("index_select", "index_fill", "index_add", "index_copy")
def along_an_axis(draw: st.DrawFn, name: str) -> Call:
    """An index of one axis, or of none, and a source with a slice for each number in it."""
    shape = draw(sizes(0, 3))
    dim = axis(draw, len(shape))
    length = draw(SIZE) if shape else 1
    index: tuple[int, ...] = (draw(SIZE),) if seldom(draw) else (length,)
    if length == 1 and draw(st.booleans()):
        index = ()
    args = (Input(shape, dtype="float32"), dim, numbers(draw, (1, *index) if seldom(draw) else index))
    if name == "index_select":
        return Call(args)
    if name == "index_fill":
        return Call((*args, Input((1,) if seldom(draw) else ()) if draw(st.booleans()) else 2))
    source = [length if place == dim % max(len(shape), 1) else size for place, size in enumerate(shape)]
    if not source and draw(st.booleans()):
        source = [1]
    elif seldom(draw):
        source = [1] * draw(st.integers(0, 2))
    named = {"alpha": 2} if name == "index_add" and draw(st.booleans()) else {}
    return Call((*args, Input(slipped(draw, source), dtype=other_dtype(draw))), named)


@calls_of("take", "put")
def counting_through(draw: st.DrawFn, name: str) -> Call:
    """Any index; a source with as many elements."""
    index = numbers(draw, draw(sizes(0, 2)))
    args = (Input(draw(sizes(0, 2)), dtype="float32"), index)
    if name == "take":
        return Call(args)
    total = prod(map(int, index))
    source = draw(st.sampled_from(((total,), (1, total), tuple(index)[::-1], (total + 1,))))
    accumulate = chosen(draw, accumulate=st.just(True))
    return Call((*args, Input(source, dtype=other_dtype(draw))), accumulate)


@calls_of("take_along_dim")
def taking(draw: st.DrawFn, name: str) -> Call:
    """Indices that broadcast with the input but along the axis."""
    whole = draw(sizes(1, 3))
    one, other = [[1 if draw(st.integers(0, 3)) == 0 else size for size in whole] for _ in range(2)]
    dim = axis(draw, len(whole))
    other[dim % len(whole)] = draw(SIZE)
    args = (Input(one), Input(slipped(draw, other), dtype=draw(st.sampled_from(INDEX_DTYPES))))
    return Call(args) if draw(st.integers(0, 3)) == 0 else Call((*args, dim))


@calls_of("masked_scatter")
def writing_through_a_mask(draw: st.DrawFn, name: str) -> Call:
    """A mask that broadcasts with the input, and at least as many elements as it can have."""
    shape = draw(sizes(0, 3))
    mask = Input(slipped(draw, narrowed(draw, shape)), dtype="int64" if seldom(draw) else "bool")
    tensor = Input(narrowed(draw, shape), dtype="float32")
    return Call((tensor, mask, Input((5**4, 6), dtype=other_dtype(draw))))


@arguments_of("index_put", as_written=True)  # whether other values fit what a mask picks, no sizes tell
@calls_of("index")
def indexing(draw: st.DrawFn, name: str) -> Call:
    """Numbers that broadcast, masks and kept axes; values that broadcast to what is picked."""
    shape = draw(sizes(1, 4))
    if name == "index_put" and seldom(draw):
        filled = Input(shape[:1], dtype="bool", values=[True] * shape[0])
        rank = draw(st.integers(1, 6))
        # whether 2 values fit as many rows as a mask has True, no sizes tell
        values = (1 if rank == len(shape) else draw(st.sampled_from((1, 2))),) * rank
        return Call((Input(shape, dtype="float32"), [filled], Input(values, dtype=other_dtype(draw))))
    whole = draw(sizes(0, 2))
    indices: list[Input | None] = []
    place = 0
    while place < len(shape) and not (indices and draw(st.integers(0, 3)) == 0):
        kind = draw(st.integers(0, 4))
        if kind == 0:
            indices.append(None)
            place += 1
        elif kind == 1:
            span = draw(st.integers(1, min(2, len(shape) - place)))
            masked = slipped(draw, shape[place : place + span])
            if seldom(draw):
                masked = (*shape[place:], draw(st.integers(1, 2)))
            indices.append(_mask(draw, masked or (1,), whole[-1] if whole else 1))
            place += span
        else:
            indices.append(Input(slipped(draw, narrowed(draw, whole)), dtype=draw(_NUMBERS)))
            place += 1
    if all(index is None for index in indices):
        indices[-1] = Input(whole, dtype="int64")
    picked = _picked(shape, indices)
    if not any(index is not None and index.values is not None for index in indices):
        indices += [None] if seldom(draw) else []
    else:
        # what fails for the count of a mask alone is nothing that sizes tell
        assume(picked is not None and (0 not in shape or all(index is None or index.values for index in indices)))
    tensor = Input(shape, dtype="float32")
    if name == "index":
        return Call((tensor, indices))
    values = narrowed(draw, picked or shape)
    if all(index is None or index.values is None for index in indices):
        values = slipped(draw, values)
    elif seldom(draw):
        values = (draw(st.sampled_from((1, 1, 2))),) * draw(st.integers(0, 6))
    accumulate = chosen(draw, accumulate=st.just(True))
    return Call((tensor, indices, Input(values, dtype=other_dtype(draw))), accumulate)


_NUMBERS: Final = st.sampled_from(("int64", "int64", "int64", "int32", "int64", "float32"))


def _mask(draw: st.DrawFn, shape: Sequence[int], wanted: int) -> Input:
    """A mask with as many True as are wanted, where there is room for them."""
    total = prod(shape)
    count = min(wanted, total) if draw(st.integers(0, 3)) else draw(st.integers(0, total))
    values = draw(st.permutations([place < count for place in range(total)]))
    return Input(shape, dtype="uint8" if seldom(draw) else "bool", values=values)


def _picked(shape: Sequence[int], indices: Sequence[Input | None]) -> tuple[int, ...] | None:
    """The sizes of what indices pick, or something like them; None where a mask has not the count that others need."""
    picks: list[Sequence[Int]] = []
    left = list(shape)
    for index in indices:
        if index is not None:
            picks.append(index if index.values is None else (sum([int(value) for value in index.values]),))
        del left[: 1 if index is None or index.values is None else len(index)]
    try:
        picked = broadcast(ShapeEnv(origin=lambda: None), *picks)
        return (*[size for size in picked if isinstance(size, int)], *left)
    except ShapeError:
        return None
