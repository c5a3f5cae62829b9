"""Advanced indexing: gathers and scatters with index tensors and masks.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, d, k = env.sizes("b s d k", lo=1)
    >>> rules["index"](env, (b, s, d), [None, Shape((k, 1), dtype="int64")])
    Shape(b, k, 1, d)
    >>> rules["index"](env, (b, s, d), [Shape((k,), dtype="int64"), None, Shape((k,), dtype="int64")])
    Shape(k, s)
    >>> rules["index"](env, (b, s, d), [Shape((b, s), dtype="bool")])         # as many rows as there are True in it
    Shape(u0, d)
    >>> print(env.events[-1])
    assume b*s >= u0

That the numbers in an index are in range is seen when the operator runs; that an axis without elements cannot be
picked from is seen here.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced, without
from shapes.rules.broadcasting import agree, agree_all, broadcast, broadcast_size, expandable, same
from shapes.rules.expectations import expect_axes
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import alike, empty, filled, pickable, trues, typed
from shapes.symbolic.choices import Int, sym_and, sym_or

MASKS = ("bool", "uint8")
NUMBERS = ("int64", "int32")


@rule("index")
def index(env: ShapeEnv, input: Shape, indices: Sequence[Shape | None]) -> Shape:
    """The axes that indices broadcast to, instead of the indexed axes; in front where these are not adjacent."""
    return Shape(_indexed(env, input, indices), dtype=input.dtype)


@rule("index_put")
def index_put(
    env: ShapeEnv, input: Shape, indices: Sequence[Shape | None], values: Shape, accumulate: bool = False
) -> Shape:
    """The sizes of the input; the values broadcast to what the indices pick."""
    picked = _indexed(env, input, indices)
    given = [index for index in indices if index is not None]
    if len(given) == 1 and given[0].dtype in MASKS and not accumulate:
        if given[0].dtype == "uint8":
            env.require(sym_or(*[size != 1 for size in values]), "indices: one value fills under a mask of bools only")
        differs = None not in (input.dtype, values.dtype) and input.dtype != values.dtype
        if differs or len(values) > len(picked):
            # one value under one mask fills: its dtype and rank are free
            env.require(sym_and(*[size == 1 for size in values]), "values: have another dtype or rank")
            return Shape(input, dtype=input.dtype)
    alike(input, values, "input", "values")
    expandable(env, values, picked, "values: do not broadcast to what is indexed")
    return Shape(input, dtype=input.dtype)


def _indexed(env: ShapeEnv, sizes: Sequence[Int], indices: Sequence[Shape | None]) -> tuple[Int, ...]:
    """The sizes of what indices pick: None keeps an axis, a mask picks from as many axes as it has."""
    if not indices or len(indices) > len(sizes):
        raise ShapeError(f"indices: expected 1 to {len(sizes)} of them, not {len(indices)}")
    picked: list[int] = []
    by_number: list[Int] = []
    picks: list[Sequence[Int]] = []
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
        elif index.dtype in MASKS:
            agree_all(env, sizes[axis:], index, "indices: a mask has other sizes than the axes that it picks from")
            if index:
                picks.append((trues(env, index),))
            picked += range(axis, axis + len(index))
            axis += len(index)
        else:
            typed(index, (*NUMBERS, *MASKS), "indices")
            if axis >= len(sizes):
                raise ShapeError("indices: more axes are indexed than there are")
            by_number.append(sizes[axis])
            picks.append(index)
            picked.append(axis)
            axis += 1
    if axis > len(sizes):
        raise ShapeError("indices: more axes are indexed than there are")
    if not picked:
        return tuple(sizes)
    found = broadcast(env, *picks, message="indices: do not broadcast")
    reachable = filled(by_number)
    if reachable is not True:
        env.require(sym_or(reachable, empty(found)), "no index fits an axis without elements")
    kept = [size for axis, size in enumerate(sizes) if axis not in picked]
    first = picked[0] if picked == list(range(picked[0], picked[-1] + 1)) else 0
    return (*kept[:first], *found, *kept[first:])


def _vector(env: ShapeEnv, index: Shape, dtypes: Sequence[str] = NUMBERS) -> Int:
    """The number of elements in an index of at most one axis."""
    typed(index, dtypes, "index")
    expect_axes(index, 0, "index", most=1)
    return index[0] if index else 1


@rule("index_select")
def index_select(env: ShapeEnv, input: Shape, dim: int, index: Shape) -> Shape:
    """The sizes of the input, the axis as long as the index."""
    axis, length = axis_of(dim, len(input)), _vector(env, index)
    if not input:
        env.require(length == 1, "index: a tensor without axes has one element")
        return Shape((), dtype=input.dtype)
    pickable(env, input[axis], (length,))
    return Shape(replaced(input, axis, length), dtype=input.dtype)


@rule("index_add")
def index_add(env: ShapeEnv, input: Shape, dim: int, index: Shape, source: Shape, *, alpha: object = 1) -> Shape:
    """The sizes of the input; the source has them too, but for the axis, which is as long as the index."""
    alike(input, source, "input", "source")
    axis, length = axis_of(dim, len(input)), _vector(env, index)
    if len(source) != len(input):
        raise ShapeError("source: has another rank than the input")
    _slices(env, input, source, axis, length)
    if len(input) == 1:
        pickable(env, input[0], (length,))  # with more axes, an input without elements takes any index
    return Shape(input, dtype=input.dtype)


@rule("index_copy")
def index_copy(env: ShapeEnv, input: Shape, dim: int, index: Shape, source: Shape) -> Shape:
    """The sizes of the input; the source has them too, but for the axis, which is as long as the index."""
    alike(input, source, "input", "source")
    axis, length = axis_of(dim, len(input)), _vector(env, index, ("int64",))
    if not input or not source:
        if len(input) > 1 or len(source) > 1:
            raise ShapeError("source: has another rank than the input")
        env.require((source[0] if source else 1) == length, "source: is not as long as the index")
    else:
        if len(source) != len(input):
            raise ShapeError("source: has another rank than the input")
        _slices(env, input, source, axis, length)
    pickable(env, input[axis] if input else 1, (length,), empty(without(input, (axis,))))
    return Shape(input, dtype=input.dtype)


def _slices(env: ShapeEnv, input: Shape, source: Shape, axis: int, length: Int) -> None:
    """Require of a source that it has a slice for each number in the index."""
    agree(env, source[axis] if source else 1, length, "source: is not as long as the index")
    for other, (size, wanted) in enumerate(zip(source, input)):
        if other != axis:
            agree(env, size, wanted, "source: has other sizes than the input")


@rule("index_fill")
def index_fill(env: ShapeEnv, input: Shape, dim: int, index: Shape, value: Shape | complex) -> Shape:
    """The sizes of the input."""
    axis, length = axis_of(dim, len(input)), _vector(env, index, ("int64",))
    _single(value)
    pickable(env, input[axis] if input else 1, (length,), empty(without(input, (axis,))))
    return Shape(input, dtype=input.dtype)


def _single(value: Shape | complex) -> None:
    if isinstance(value, Shape) and value:
        raise ShapeError(f"value: expected a number or a tensor without axes, not one with {len(value)}")


@rule("take")
def take(env: ShapeEnv, input: Shape, index: Shape) -> Shape:
    """The sizes of the index, which counts through all elements."""
    typed(index, ("int64",), "index")
    _all_pickable(env, input, index)
    return Shape(index, dtype=input.dtype)


@rule("put")
def put(env: ShapeEnv, input: Shape, index: Shape, source: Shape, accumulate: bool = False) -> Shape:
    """The sizes of the input; index and source have equally many elements."""
    typed(index, ("int64",), "index")
    alike(input, source, "input", "source")
    agree(env, numel(index), numel(source), "source: has not as many elements as the index")
    _all_pickable(env, input, index)
    return Shape(input, dtype=input.dtype)


def _all_pickable(env: ShapeEnv, input: Shape, index: Shape) -> None:
    reachable = filled(input)
    if reachable is not True:
        env.require(sym_or(reachable, empty(index)), "no index fits a tensor without elements")


@rule("take_along_dim")
def take_along_dim(env: ShapeEnv, input: Shape, indices: Shape, dim: int | None = None) -> Shape:
    """The sizes that both broadcast to, the axis as long as the indices; without one, a number for each index."""
    if dim is None:
        _typed_unless_empty(env, indices)
        _all_pickable(env, input, indices)
        return Shape((numel(indices),), dtype=input.dtype)
    typed(indices, ("int64",), "indices")
    if len(input) != len(indices):
        raise ShapeError("indices: have another rank than the input")
    axis = axis_of(dim, len(input))
    if not input:
        return Shape((), dtype=input.dtype)
    found = [
        length if other == axis else broadcast_size(env, size, length, "indices: do not broadcast with the input")
        for other, (size, length) in enumerate(zip(input, indices))
    ]
    pickable(env, input[axis], found)
    return Shape(found, dtype=input.dtype)


@rule("masked_scatter")
def masked_scatter(env: ShapeEnv, input: Shape, mask: Shape, source: Shape) -> Shape:
    """The sizes that input and mask broadcast to; the source has one element for each True."""
    typed(mask, ("bool",), "mask")
    alike(input, source, "input", "source")
    return Shape(broadcast(env, input, mask), dtype=input.dtype)


# ---------------------------------------------------------------------- an index for each element


@rule("gather")
def gather(env: ShapeEnv, input: Shape, dim: int, index: Shape, *, sparse_grad: bool = False) -> Shape:
    """The sizes of the index."""
    axis = axis_of(dim, len(input))
    _inside(env, index, axis, input)
    return Shape(index, dtype=input.dtype)


@rule("scatter")
def scatter(
    env: ShapeEnv,
    input: Shape,
    dim: int,
    index: Shape,
    src: Shape | complex | None = None,
    *,
    value: Shape | complex | None = None,
    reduce: str | None = None,
) -> Shape:
    """The sizes of the input."""
    if (src is None) is (value is None):
        raise ShapeError("expected either src or value")
    if value is not None:
        _single(value)
    _chosen(reduce, ("add", "multiply", None))
    return _scattered(env, input, dim, index, src)


@rule("scatter_add")
def scatter_add(env: ShapeEnv, input: Shape, dim: int, index: Shape, src: Shape) -> Shape:
    """The sizes of the input."""
    return _scattered(env, input, dim, index, src)


@rule("scatter_reduce", schema="input, dim, index, src, reduce, *, include_self=True")
def scatter_reduce(env: ShapeEnv, input: Shape, dim: int, index: Shape, src: Shape, reduce: str) -> Shape:
    """The sizes of the input."""
    _chosen(reduce, ("sum", "prod", "mean", "amax", "amin"))
    return _scattered(env, input, dim, index, src)


def _chosen(reduce: str | None, known: Sequence[str | None]) -> None:
    if reduce not in known:
        raise ShapeError(f"reduce={reduce!r}: expected one of {', '.join([one for one in known if one])}")


def _scattered(env: ShapeEnv, input: Shape, dim: int, index: Shape, src: Shape | complex | None) -> Shape:
    axis = axis_of(dim, len(input))
    _inside(env, index, axis, input)
    if isinstance(src, Shape):
        alike(input, src, "input", "src")
        _inside(env, index, None, src)
    return Shape(input, dtype=input.dtype)


def _inside(env: ShapeEnv, index: Shape, axis: int | None, tensor: Shape) -> None:
    """Require of an index that it is nowhere longer than a tensor but along the axis, unless it is empty."""
    _typed_unless_empty(env, index)
    lengths, limits = tuple(index) or (1,), tuple(tensor) or (1,)
    if len(lengths) != len(limits):
        env.require(empty(index), "index: has another rank than the tensor")
        return
    longer = [
        other
        for other, (length, limit) in enumerate(zip(lengths, limits))
        if other != axis and not same(length, limit) and not (isinstance(length, int) and length == 0)
    ]
    if longer:
        fits = sym_and(*[lengths[other] <= limits[other] for other in longer])
        # an axis that is the only one to fit does so where it has no elements
        rest = (*index[: longer[0]], *index[longer[0] + 1 :]) if len(longer) == 1 else index
        env.require(sym_or(fits, empty(rest)), "index: is longer than the tensor")
    if axis is not None:
        pickable(env, limits[axis], index)


def _typed_unless_empty(env: ShapeEnv, index: Shape) -> None:
    if index.dtype is not None and index.dtype not in NUMBERS:
        env.require(empty(index), "index: expected int64 or int32")
