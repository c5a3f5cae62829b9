"""Arguments of views: shapes of as many elements, orders of axes, and tensors with other strides.

>>> from hypothesis import find
>>> from shapes.testing.arguments.views import factored
>>> find(factored(6), lambda sizes: sizes == (1, 2, 3))
(1, 2, 3)
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import SIZE, narrowed, seldom, sizes, slipped, some_axes, some_axis, with_axes
from shapes.testing.calls import Call, Input


@st.composite
def factored(draw: st.DrawFn, number: int) -> tuple[int, ...]:
    """Sizes of a tensor with so many elements."""
    if number == 0:
        found = list(draw(sizes(0, 3)))
        found.insert(draw(st.integers(0, len(found))), 0)
        return tuple(found)
    found = []
    while number > 1:
        factor = draw(st.sampled_from([factor for factor in range(2, number + 1) if number % factor == 0]))
        found.append(factor)
        number //= factor
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        found.insert(draw(st.integers(0, len(found))), 1)
    return tuple(found)


@st.composite
def target_of(draw: st.DrawFn, x: tuple[int, ...]) -> tuple[int, ...]:
    """A shape to read a tensor in: often with a -1, now and then impossible."""
    target = list(slipped(draw, draw(st.one_of(factored(prod(x)), _joined(x)))))
    if seldom(draw):
        target[:2] = [-size for size in target[:2]]
        return tuple(target)
    if draw(st.booleans()) and target:
        target[draw(st.integers(0, len(target) - 1))] = -2 if seldom(draw) else -1
        if seldom(draw):
            target[draw(st.integers(0, len(target) - 1))] = -1
    return tuple(target)


@st.composite
def _joined(draw: st.DrawFn, x: tuple[int, ...]) -> tuple[int, ...]:
    """The same sizes, some of them multiplied."""
    found: list[int] = []
    for size in x:
        if draw(st.booleans()) and found:
            found[-1] *= size
        else:
            found.append(size)
    return tuple(found)


@st.composite
def laid_out(draw: st.DrawFn, x: tuple[int, ...]) -> Input:
    """A tensor of these sizes: fresh, turned, with gaps, or with elements in several places."""
    kind = draw(st.sampled_from(("fresh", "packed", "turned", "gaps", "some")))
    if kind == "fresh" or not x:
        return Input(x)
    if kind == "some":
        return Input(x, strides=[draw(st.integers(0, 6)) for _ in x], storage_offset=draw(st.integers(0, 3)))
    order = draw(st.permutations(range(len(x)))) if kind == "turned" else list(reversed(range(len(x))))
    gap = draw(st.integers(1, 3)) if kind == "gaps" else 1
    steps = list(accumulate([max(x[axis], 1) * (gap if place == 0 else 1) for place, axis in enumerate(order)], mul))
    strides = [1] * len(x)
    for axis, step in zip(order[1:], steps):
        strides[axis] = step
    for axis, size in enumerate(x):
        if size == 1 and draw(st.booleans()):
            strides[axis] = draw(st.integers(0, 9))
    return Input(x, strides=strides)


@calls_of("reshape", "view")
def to_sizes(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 4))
    return Call((draw(laid_out(x)), draw(target_of(x))))


@calls_of("view_as", "reshape_as")
def to_other(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 4))
    return Call((draw(laid_out(x)), Input(slipped(draw, draw(factored(prod(x)))))))


@calls_of("flatten")
def of_flatten(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 4))
    if seldom(draw) and len(x) > 1:
        end = draw(st.integers(0, len(x) - 2))
        return Call((draw(laid_out(x)), end + 1, end))
    ends = sorted([draw(st.integers(0, max(len(x) - 1, 0))) for _ in range(2)])
    if draw(st.integers(0, 3)) == 0:
        ends = [some_axis(draw, len(x)), some_axis(draw, len(x))]
    turned = [end - max(len(x), 1) if end >= 0 and draw(st.booleans()) else end for end in ends]
    return Call((draw(laid_out(x)), *turned[: draw(st.integers(0, 2))]))


@calls_of("unflatten")
def of_unflatten(draw: st.DrawFn, name: str) -> Call:
    x = draw(with_axes(3))
    axis = some_axis(draw, len(x))
    size = x[axis] if -len(x) <= axis < len(x) else 4
    parts = draw(target_of((size,)))
    return Call((draw(laid_out(x)), axis, parts))


LAID_OUT = sizes(0, 4).flatmap(laid_out)
calls_of_tensor(LAID_OUT, "ravel", "T", "mT", "mH", "adjoint")
calls_of_tensor(sizes(0, 3).flatmap(laid_out), "t", "H")


calls_of_tensor(LAID_OUT, "transpose", "swapdims", "swapaxes", then=(some_axis, some_axis))


@calls_of("permute")
def of_permute(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 4))
    order = slipped(draw, draw(st.permutations(range(len(x)))))
    return Call((draw(laid_out(x)), tuple([axis - len(x) if draw(st.booleans()) else axis for axis in order])))


@calls_of("movedim", "moveaxis")
def of_movedim(draw: st.DrawFn, name: str) -> Call:
    x = draw(sizes(0, 4))
    if draw(st.booleans()):
        return Call((draw(laid_out(x)), some_axis(draw, len(x)), some_axis(draw, len(x))))
    number = draw(st.integers(0, len(x)))
    moves = [slipped(draw, draw(st.permutations(range(len(x))))[:number]) for _ in range(2)]
    return Call((draw(laid_out(x)), *moves))


def _has_a_size(call: Call) -> bool:
    """Torch gives negative sizes for new axes, and for a -2, if there is an axis of size 0."""
    x, wanted = call.args
    assert isinstance(x, Input) and isinstance(wanted, tuple)
    new = wanted[: max(len(wanted) - len(x), 0)]
    return 0 not in (*x, *wanted) or min((0, *new)) == 0 and -2 not in wanted


@calls_of("expand", "broadcast_to", only=_has_a_size)
def to_larger(draw: st.DrawFn, name: str) -> Call:
    target = draw(sizes(0, 4))
    x = narrowed(draw, target)
    wanted = list(slipped(draw, target))
    for axis in range(len(wanted)):
        if draw(st.integers(0, 3)) == 0:
            wanted[axis] = -1 if draw(st.integers(0, 7)) else -2
    return Call((draw(laid_out(x)), tuple(wanted)))


@calls_of("expand_as")
def to_larger_other(draw: st.DrawFn, name: str) -> Call:
    target = draw(sizes(0, 4))
    return Call((draw(laid_out(narrowed(draw, target))), Input(slipped(draw, target))))


@calls_of("broadcast_tensors")
def to_each_other(draw: st.DrawFn, name: str) -> Call:
    target = draw(sizes(0, 3))
    number = draw(st.integers(1, 3))
    return Call(tuple([draw(laid_out(slipped(draw, narrowed(draw, target)))) for _ in range(number)]))


@calls_of("squeeze")
def of_squeeze(draw: st.DrawFn, name: str) -> Call:
    x = tuple([1 if draw(st.booleans()) else draw(SIZE) for _ in range(draw(st.integers(0, 4)))])
    if draw(st.integers(0, 2)) == 0:
        return Call((draw(laid_out(x)),))
    return Call((draw(laid_out(x)), some_axes(draw, len(x))))


calls_of_tensor(LAID_OUT, "unsqueeze", then=(lambda draw, rank: some_axis(draw, rank + 1),))


@arguments_of("atleast_1d", "atleast_2d", "atleast_3d")
def of_atleast(name: str) -> st.SearchStrategy[Call]:
    tensor = sizes(0, 4).flatmap(laid_out)
    several = st.lists(tensor, min_size=1, max_size=3)
    return st.one_of(several.map(lambda tensors: Call(tuple(tensors))), several.map(lambda tensors: Call((tensors,))))


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
