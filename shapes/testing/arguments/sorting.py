"""Arguments of operators that sort, and that search in what is sorted.

>>> from shapes.testing.arguments import arguments_for
>>> arguments_for("topk").example()                     # doctest: +SKIP
Call((Input((2, 3)), 2), {'dim': 0})
"""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.indexing import axis
from shapes.testing.arguments.mistakes import SIZE, chosen, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


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
