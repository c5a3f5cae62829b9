"""Arguments of operators that depend on strides and storage.

>>> from shapes.testing.arguments import arguments_for
>>> from hypothesis import find
>>> find(arguments_for("view_as_complex"), lambda call: len(next(call.inputs())) == 2)    # doctest: +SKIP
Call((Input((0, 2), dtype='float32'),))
"""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import seldom, sizes, slipped
from shapes.testing.arguments.views import LAID_OUT, laid_out
from shapes.testing.calls import Call, Input

calls_of_tensor(LAID_OUT, "detach", "conj", "resolve_conj", "resolve_neg", "contiguous", "clone")


@arguments_of("view_as_real", "real", "imag")
def of_complex(name: str) -> st.SearchStrategy[Call]:
    dtype = st.sampled_from(("complex64", "complex64", "complex128", "float32"))

    def of(x: Input, dtype: str) -> Call:
        return Call((Input(x, dtype=dtype, strides=x.strides, storage_offset=x.storage_offset),))

    return st.builds(of, sizes(0, 4).flatmap(laid_out), dtype)


@calls_of("view_as_complex")
def of_pairs(draw: st.DrawFn, name: str) -> Call:
    x = slipped(draw, (*draw(sizes(0, 3)), 2))
    dtype = draw(st.sampled_from(("float32", "float64", "float32", "int64")))
    if x and dtype == "float32" and draw(st.booleans()):
        strides = [draw(st.sampled_from((2, 4, 6, 3))) for _ in x]
        strides[-1] = 2 if seldom(draw) else 1
        return Call((Input(x, dtype=dtype, strides=strides, storage_offset=draw(st.sampled_from((0, 2, 1)))),))
    return Call((Input(x, dtype=dtype),))


@st.composite
def strided_within(draw: st.DrawFn, elements: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes, strides and offset, mostly within so many elements."""
    size = draw(sizes(0, 2))
    strides = tuple([draw(st.sampled_from((1, 2, 1, 0, 3))) for _ in size])
    reach = sum([(length - 1) * step for length, step in zip(size, strides)])
    offset = draw(st.integers(0, max(elements - reach - 1, 0)))
    if seldom(draw):
        return slipped(draw, size), strides, offset + draw(st.sampled_from((1, -1, 2)))
    if seldom(draw):
        return (size[:-1], strides, offset) if draw(st.booleans()) else (size, strides[:-1], offset)
    return size, strides, offset


def _has_sizes(call: Call) -> bool:
    """Torch gives negative sizes beside a 0."""
    size = call.args[1]
    assert isinstance(size, tuple)
    return 0 not in size or min(size) == 0


@calls_of("as_strided", only=_has_sizes)
def of_as_strided(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 3))
    size, strides, offset = draw(strided_within(prod(x)))
    return Call((Input(x), size, strides, *([offset] if draw(st.booleans()) else [])))
