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
    """How many bins, or where they end."""
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
