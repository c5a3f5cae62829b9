"""Calls of reductions."""

from __future__ import annotations

from math import inf

from hypothesis import strategies as st

from shapes.testing.arguments import among, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import ANY, optional, seldom, sizes, some_axes, some_axis
from shapes.testing.arguments.pointwise import meeting
from shapes.testing.calls import Call, Input


@calls_of("sum", "nansum", "mean", "nanmean", "amax", "amin", "all", "any", "std", "var", "std_mean", "var_mean")
def over_axes(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    kwargs = optional(draw, dim=some_axes(draw, len(one)))
    if "dim" in kwargs:
        kwargs |= optional(draw, keepdim=True)
    if name.startswith(("std", "var")):
        kwargs |= optional(draw, correction=draw(st.integers(0, 2)))
    return Call((Input(one),), kwargs)


def _names_axes(call: Call) -> bool:
    """Torch makes an error of its own of no axes."""
    return call.args[1] != ()


@calls_of("logsumexp", "special.logsumexp", only=_names_axes)
def logsumexp(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    dim = some_axes(draw, len(one)) or (0,)
    return Call((Input(one), dim), optional(draw, keepdim=True))


calls_of_tensor(ANY, "count_nonzero", dim=some_axes)


ORDERS = among(0, 1, 2, 2.5, inf, -inf, -1, "fro")
calls_of_tensor(ANY, "linalg.vector_norm", ord=ORDERS, dim=some_axes, keepdim=among(True))


@calls_of("norm")
def norm(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    order = draw(st.sampled_from([0, 1, 2, inf, -1, "fro", "nuc", None]))
    # torch has no singular values of a matrix without elements
    if order == "nuc":
        one = tuple([size + 1 for size in one])
    return Call((Input(one),), optional(draw, p=order, dim=some_axes(draw, len(one)), keepdim=True))


@calls_of("dist")
def dist(draw: st.DrawFn, name: str) -> Call:
    one, other = meeting(draw, 2)
    return Call((Input(one), Input(other)), optional(draw, p=draw(st.sampled_from([1, 2, inf, -1]))))


@calls_of("prod", "median", "nanmedian", "argmax", "argmin")
def over_axis(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    kwargs = optional(draw, dim=some_axis(draw, len(one)))
    if "dim" in kwargs:
        kwargs |= optional(draw, keepdim=True)
    return Call((Input(one),), kwargs)


calls_of_tensor(ANY, "aminmax", "mode", dim=some_axis, keepdim=among(True))


@calls_of("max", "min")
def extreme(draw: st.DrawFn, name: str) -> Call:
    match draw(st.integers(0, 3)):
        case 0:
            return Call(tuple([Input(each) for each in meeting(draw, 2)]))
        case 1:
            return Call((Input(draw(sizes(0, 4))),))
        case _:
            one = draw(sizes(0, 4))
            return Call((Input(one), some_axis(draw, len(one))), optional(draw, keepdim=True))


@calls_of("quantile", "nanquantile")
def quantile(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    shares = draw(st.lists(st.sampled_from([0, 0.25, 0.5, 1]), max_size=3))
    vector: object = Input((len(shares),), dtype="float64" if seldom(draw) else "float32", values=shares)
    if draw(st.integers(0, 3)) == 0:
        vector = Input((1, len(shares)), values=shares)
    q = draw(st.sampled_from([0.5, vector, vector, Input(()), 1.5]))
    modes = ("lower", "higher", "midpoint", "nearest", "middle")
    kwargs = optional(draw, dim=some_axis(draw, len(one)), keepdim=True, interpolation=draw(st.sampled_from(modes)))
    return Call((Input(one, dtype="float32"), q), kwargs)
