"""Arguments of operators that select by value.

>>> from shapes.testing.arguments import arguments_for
>>> arguments_for("unique").example()                   # doctest: +SKIP
Call((Input((2, 3), dtype='int64', high=3),), {'dim': -1})
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.indexing import axis, numbers
from shapes.testing.arguments.mistakes import SIZE, chosen, narrowed, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


def _some_zeros(draw: st.DrawFn, shape: Sequence[int]) -> Input:
    """Few values, so that there are zeros and equal ones among them."""
    return Input(shape, dtype=draw(st.sampled_from(("int64", "bool"))), low=0, high=3)


@calls_of("nonzero", "argwhere", "nonzero_static", "item")
def of_one_tensor(draw: st.DrawFn, name: str) -> Call:
    """Any tensor."""
    tensor = _some_zeros(draw, draw(sizes(0, 3)))
    match name:
        case "nonzero":
            return Call((tensor,), draw(st.sampled_from(({}, {"as_tuple": True}, {"as_tuple": False}))))
        case "nonzero_static":
            fill = chosen(draw, fill_value=st.just(7))
            return Call((tensor,), {"size": draw(st.integers(-1, 6)), **fill})
        case "item" if draw(st.booleans()):
            return Call((Input([1] * draw(st.integers(0, 3))),))
    return Call((tensor,))


@calls_of("masked_select")
def masking(draw: st.DrawFn, name: str) -> Call:
    """A mask that broadcasts with the input."""
    shape = draw(sizes(0, 3))
    mask = Input(slipped(draw, narrowed(draw, shape)), dtype="uint8" if seldom(draw) else "bool")
    return Call((Input(narrowed(draw, shape)), mask))


@calls_of("unique", "unique_consecutive", "unique_dim")
def distinct(draw: st.DrawFn, name: str) -> Call:
    """Few values, with or without an axis."""
    shape = draw(sizes(0, 3))
    named = chosen(draw, return_inverse=st.booleans(), return_counts=st.booleans())
    if name == "unique_dim":
        # without these its other outputs are of no use, and have whatever sizes they happen to have
        named = {"return_inverse": True, "return_counts": True}
    if name != "unique_consecutive" and draw(st.booleans()):
        named["sorted"] = draw(st.booleans())
    if name == "unique_dim" or draw(st.booleans()):
        named["dim"] = axis(draw, len(shape))
    return Call((_some_zeros(draw, shape),), named)


@calls_of("repeat_interleave", as_written=True)
def repeating(draw: st.DrawFn, name: str) -> Call:
    """The same number of repeats for all elements, or one for each."""
    shape = draw(sizes(0, 3))
    dim = axis(draw, len(shape)) if draw(st.booleans()) else None
    length = prod(shape) if dim is None else shape[dim % len(shape)] if shape else 1
    named: dict[str, object] = {} if dim is None else {"dim": dim}
    match draw(st.integers(0, 3)):
        case 0:
            repeats = draw(st.integers(-1, 4))
            if draw(st.integers(0, 3)) == 0:
                named["output_size"] = repeats * length + (1 if seldom(draw) else 0)
            return Call((Input(shape), repeats), named)
        case 1:
            given = draw(st.lists(st.integers(0, 3), max_size=4))
            named = chosen(draw, output_size=st.just(sum(given)))
            return Call((Input((len(given),), dtype="int32" if seldom(draw) else "int64", values=given),), named)
        case 2 if seldom(draw):
            return Call((Input(draw(sizes(0, 2)), dtype="int64", low=1, high=3),))
        case _:
            span = slipped(draw, draw(st.sampled_from(((length,), (length,), (1,), ()))))
            tensor = numbers(draw, span)
            values = [draw(st.integers(0, 3)) for _ in range(prod(span))]
            named |= chosen(draw, output_size=st.just(sum(values) if span == (length,) else sum(values) * length))
            return Call((Input(shape), Input(span, dtype=tensor.dtype, values=values)), named)


@calls_of("bincount")
def counting(draw: st.DrawFn, name: str) -> Call:
    """Small numbers."""
    shape = slipped(draw, (draw(SIZE),))
    dtype = "float32" if seldom(draw) else draw(st.sampled_from(("int64", "int32", "uint8")))
    named = chosen(draw, minlength=st.integers(-1, 6))
    if draw(st.booleans()):
        named["weights"] = Input(slipped(draw, shape))
    return Call((Input(shape, dtype=dtype, low=0, high=4),), named)


@calls_of("histc", "histogram")
def bins(draw: st.DrawFn, name: str) -> Call:
    """The number of bins, or their boundaries."""
    shape = draw(sizes(0, 3))
    tensor, number = Input(shape), draw(st.integers(0 if seldom(draw) else 1, 6))
    if name == "histc":
        named = chosen(draw, bins=st.just(number))
        if draw(st.booleans()):
            named |= {"min": draw(st.sampled_from((0, -1.0, 2))), "max": draw(st.sampled_from((1, 2.5)))}
        return Call((tensor,), named)
    named = chosen(draw, density=st.just(True))
    if draw(st.booleans()):
        named["weight"] = Input(slipped(draw, shape))
    if draw(st.booleans()):
        edges = slipped(draw, (draw(st.integers(0 if seldom(draw) else 2, 6)),))
        return Call((tensor, Input(edges, values=sorted(range(prod(edges))))), named)
    if draw(st.booleans()):
        named["range"] = (0.0, draw(st.sampled_from((1.0, 2.0, -1.0))))
    return Call((tensor, number), named)


@calls_of("sort", "argsort", "msort")
def sorting(draw: st.DrawFn, name: str) -> Call:
    """Any tensor, and an axis."""
    shape = draw(sizes(0, 3))
    if name == "msort":
        return Call((Input(shape),))
    named = chosen(draw, descending=st.booleans(), stable=st.booleans())
    if draw(st.integers(0, 3)):
        named["dim"] = axis(draw, len(shape))
    return Call((Input(shape),), named)


@calls_of("topk", "kthvalue")
def among(draw: st.DrawFn, name: str) -> Call:
    """A number up to the length of an axis."""
    shape = draw(sizes(0, 3))
    dim = axis(draw, len(shape)) if draw(st.integers(0, 3)) else -1
    length = shape[dim % len(shape)] if shape else 1
    least = min(length, 0 if name == "topk" else 1)
    k = draw(st.integers(least, length)) if draw(st.integers(0, 4)) else draw(st.integers(-1, 6))
    named: dict[str, object] = {} if dim == -1 and draw(st.booleans()) else {"dim": dim}
    named |= chosen(draw, **dict.fromkeys(("keepdim",) if name == "kthvalue" else ("largest", "sorted"), st.booleans()))
    return Call((Input(shape), k), named)


@calls_of("searchsorted")
def searching(draw: st.DrawFn, name: str) -> Call:
    """One sequence, or a row of them for each row of what is looked for."""
    rows, length = draw(sizes(0, 2)), draw(SIZE)
    wanted: object
    if not rows and draw(st.booleans()):
        wanted = Input(draw(sizes(0, 3))) if draw(st.booleans()) else 0.5
    else:
        ahead = rows
        if rows and draw(st.integers(0, 3)) == 0:
            ahead = (*rows[:-1], rows[-1] + 1)
        behind = (draw(SIZE), 1) if draw(st.integers(0, 4)) == 0 else (draw(SIZE),)
        wanted = 0.5 if seldom(draw) else Input(slipped(draw, (*ahead, *behind)))
    sequence = () if seldom(draw) and seldom(draw) else (*rows, length)
    named = chosen(draw, out_int32=st.just(True))
    if draw(st.integers(0, 2)) == 0:
        named["side"] = draw(st.sampled_from(("left", "right", None, "right", "middle")))
    if draw(st.integers(0, 2)) == 0:
        named["right"] = draw(st.booleans())
    if draw(st.integers(0, 2)) == 0:
        # every place is the first one: in range wherever there is one
        named["sorter"] = Input(slipped(draw, sequence), dtype="int32" if seldom(draw) else "int64")
    return Call((Input(sequence, values=range(prod(sequence))), wanted), named)


@calls_of("bucketize")
def bucketing(draw: st.DrawFn, name: str) -> Call:
    """Anything, and where the buckets end."""
    wanted = 0.5 if draw(st.integers(0, 3)) == 0 else Input(draw(sizes(0, 3)))
    named = {option: draw(st.booleans()) for option in ("out_int32", "right") if draw(st.booleans())}
    return Call((wanted, Input(slipped(draw, (draw(SIZE),)))), named)
