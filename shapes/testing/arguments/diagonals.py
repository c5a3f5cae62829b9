"""Calls that take diagonals and put them in."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import among, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import SIZE, chosen, seldom, sizes, slipped
from shapes.testing.arguments.views import laid_out
from shapes.testing.calls import Call, Input

OFFSET = st.integers(-6, 6)


@calls_of("trace")
def trace(draw: st.DrawFn, name: str) -> Call:
    return Call((Input(slipped(draw, draw(sizes(2)))),))


@calls_of("tril", "triu")
def triangle(draw: st.DrawFn, name: str) -> Call:
    return Call((Input(draw(sizes(1, 4))),), draw(st.sampled_from([{}, {"diagonal": 1}, {"diagonal": -7}])))


@calls_of("diagonal", "linalg.diagonal", "diag_embed")
def diagonal(draw: st.DrawFn, name: str) -> Call:
    kwargs = chosen(draw, offset=OFFSET)
    least = 0 if seldom(draw) else (1 if name == "diag_embed" else 2)
    x = draw(sizes(least, 4))
    tensor = Input(x) if name == "diag_embed" else draw(laid_out(x))
    if draw(st.booleans()):
        rank = len(tensor) + (name == "diag_embed")
        dims = st.integers(-rank - seldom(draw), max(rank - 1, 0) + seldom(draw))
        kwargs |= {"dim1": draw(dims), "dim2": draw(dims)}
    return Call((tensor,), kwargs)


@calls_of("diag", "diagflat")
def diag(draw: st.DrawFn, name: str) -> Call:
    return Call((Input(draw(sizes(1, 2)) if not seldom(draw) else draw(sizes(0, 3))), draw(OFFSET)))


@calls_of("vander")
def vander(draw: st.DrawFn, name: str) -> Call:
    kwargs = chosen(draw, N=st.integers(-1, 4))
    return Call((Input(slipped(draw, (draw(SIZE),))),), kwargs)


calls_of_tensor(sizes(0, 3).map(Input), "linalg.vander", N=among(-1, 0, 1, 2, 3, 4))
