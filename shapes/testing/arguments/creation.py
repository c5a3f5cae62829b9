"""Calls that make new tensors."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import SIZE, seldom, sizes
from shapes.testing.calls import Call, Input

COUNT = st.sampled_from((2, 0, 1, 5, 3, -1))


def _size(draw: st.DrawFn) -> list[object]:
    size = COUNT if seldom(draw) else SIZE
    wrong = [draw(st.sampled_from([1.5, "1"]))] if seldom(draw) and seldom(draw) else []
    return [*draw(st.lists(size, max_size=4)), *wrong]


@calls_of("zeros", "ones", "empty", "rand", "randn")
def filled(draw: st.DrawFn, name: str) -> Call:
    size = _size(draw)
    return Call(tuple(size)) if draw(st.booleans()) and len(size) > 0 else Call((size,))


@calls_of("full", "randint")
def with_a_number(draw: st.DrawFn, name: str) -> Call:
    size = _size(draw)
    if name == "full":
        return Call((size, 1.5))
    bounds = draw(st.lists(st.integers(-1, 5), min_size=1, max_size=2))
    return Call((*bounds, size)) if draw(st.booleans()) else Call((*bounds,), {"size": size})


@calls_of(
    "randperm", "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window", "scalar_tensor"
)
def counted(draw: st.DrawFn, name: str) -> Call:
    return Call((draw(COUNT),))


@calls_of("eye")
def eye(draw: st.DrawFn, name: str) -> Call:
    return Call(tuple(draw(st.lists(COUNT, min_size=1, max_size=2))))


@calls_of("empty_strided")
def empty_strided(draw: st.DrawFn, name: str) -> Call:
    size = _size(draw)
    stride = [draw(st.integers(0, 4)) for _ in range(len(size) + seldom(draw))]
    return Call((size, stride))


@calls_of("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like")
def like(draw: st.DrawFn, name: str) -> Call:
    more: tuple[object, ...] = ()
    if name == "full_like":
        more = (2.5,)
    elif name == "randint_like":
        more = tuple(draw(st.lists(st.integers(-1, 5), min_size=1, max_size=2)))
    return Call((Input(draw(sizes(0, 4))), *more))


@calls_of("new_zeros", "new_ones", "new_empty", "new_full")
def new(draw: st.DrawFn, name: str) -> Call:
    size = _size(draw)
    tensor = Input(draw(sizes(0, 2)))
    if name == "new_full":
        return Call((tensor, size, 1.5))
    return Call((tensor, *size)) if draw(st.booleans()) and len(size) > 0 else Call((tensor, size))


@calls_of("arange", "range")
def arange(draw: st.DrawFn, name: str) -> Call:
    whole = st.integers(-6, 9)
    number = draw(st.sampled_from([whole, whole, st.sampled_from([0.5, 2.25, -1.5, 0.1, 0.3, 3.0, -0.7, 0.0])]))
    count = draw(st.integers(2 if name == "range" else 1, 3))
    args = [draw(number) for _ in range(count)]
    if count == 3 and draw(st.booleans()) and (args[1] - args[0]) * args[2] < 0:
        args[2] = -args[2]
    return Call(tuple(args), {"size": 2} if seldom(draw) else {})


@calls_of("linspace", "logspace")
def linspace(draw: st.DrawFn, name: str) -> Call:
    bound = st.one_of(st.integers(-2, 3), st.sampled_from([Input(()), Input(()), Input((1,))]))
    return Call((draw(bound), draw(bound), draw(COUNT)))


@calls_of("tril_indices", "triu_indices")
def triangle_indices(draw: st.DrawFn, name: str) -> Call:
    return Call((draw(COUNT), draw(COUNT)), draw(st.fixed_dictionaries({}, optional={"offset": st.integers(-6, 6)})))


@calls_of("meshgrid", "cartesian_prod")
def grid(draw: st.DrawFn, name: str) -> Call:
    tensors = [Input(draw(sizes(1 - seldom(draw), 1 + seldom(draw)))) for _ in range(draw(st.integers(0, 3)))]
    if name == "cartesian_prod":
        return Call(tuple(tensors))
    kwargs = draw(st.sampled_from([{}, {"indexing": "ij"}, {"indexing": "xy"}, {"indexing": "yx"}]))
    return Call((tensors,) if draw(st.booleans()) else tuple(tensors), kwargs)


@calls_of("combinations")
def combinations(draw: st.DrawFn, name: str) -> Call:
    tensor = Input(draw(sizes(1)) if not seldom(draw) else draw(sizes(0, 2)))
    return Call((tensor, draw(st.integers(-1, 4))), {"with_replacement": True} if draw(st.booleans()) else {})
