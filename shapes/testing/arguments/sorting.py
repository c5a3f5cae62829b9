"""Arguments of operators that sort, and that search in what is sorted.

>>> from shapes.testing.arguments import arguments_for
>>> arguments_for("topk").example()                     # doctest: +SKIP
(Input(2, 3), 2, dim=0)
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from shapes.testing.arguments import arguments_of
from shapes.testing.arguments.indexing import axis
from shapes.testing.arguments.mistakes import SIZE, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


@arguments_of("sort", "argsort", "msort")
def sorting(name: str) -> SearchStrategy[Call]:
    """Any tensor, and an axis."""

    @st.composite
    def calls(draw: st.DrawFn) -> Call:
        shape = draw(sizes(0, 3))
        if name == "msort":
            return Call((Input(shape),))
        named: dict[str, object] = {
            option: draw(st.booleans()) for option in ("descending", "stable") if draw(st.booleans())
        }
        if draw(st.integers(0, 3)):
            named["dim"] = axis(draw, len(shape))
        return Call((Input(shape),), named)

    return calls()


@arguments_of("topk", "kthvalue")
def among(name: str) -> SearchStrategy[Call]:
    """A number up to the length of an axis."""

    @st.composite
    def calls(draw: st.DrawFn) -> Call:
        shape = draw(sizes(0, 3))
        dim = axis(draw, len(shape)) if draw(st.integers(0, 3)) else -1
        length = shape[dim % len(shape)] if shape else 1
        least = min(length, 0 if name == "topk" else 1)
        k = draw(st.integers(least, length)) if draw(st.integers(0, 4)) else draw(st.integers(-1, 6))
        named: dict[str, object] = {} if dim == -1 and draw(st.booleans()) else {"dim": dim}
        for option in ("keepdim",) if name == "kthvalue" else ("largest", "sorted"):
            if draw(st.booleans()):
                named[option] = draw(st.booleans())
        return Call((Input(shape), k), named)

    return calls()


@arguments_of("searchsorted")
def searching(name: str) -> SearchStrategy[Call]:
    """One sequence, or a row of them for each row of what is looked for."""

    @st.composite
    def calls(draw: st.DrawFn) -> Call:
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
        total = 1
        for size in sequence:
            total *= size
        named: dict[str, object] = {"out_int32": True} if draw(st.booleans()) else {}
        if draw(st.integers(0, 2)) == 0:
            named["side"] = draw(st.sampled_from(("left", "right", None, "right", "middle")))
        if draw(st.integers(0, 2)) == 0:
            named["right"] = draw(st.booleans())
        if draw(st.integers(0, 2)) == 0:
            # every place is the first one: in range wherever there is one
            named["sorter"] = Input(slipped(draw, sequence), dtype="int32" if seldom(draw) else "int64")
        return Call((Input(sequence, values=range(total)), wanted), named)

    return calls()


@arguments_of("bucketize")
def bucketing(name: str) -> SearchStrategy[Call]:
    """Anything, and where the buckets end."""

    @st.composite
    def calls(draw: st.DrawFn) -> Call:
        wanted = 0.5 if draw(st.integers(0, 3)) == 0 else Input(draw(sizes(0, 3)))
        named = {option: draw(st.booleans()) for option in ("out_int32", "right") if draw(st.booleans())}
        return Call((wanted, Input(slipped(draw, (draw(SIZE),)))), named)

    return calls()
