"""Selection by value, with data-dependent numbers of elements; sorting, and searching in what is sorted.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", lo=1)
>>> rules["nonzero"](env, (b, s))
Shape(u0, 2, dtype=int64)
>>> rules["unique"](env, (b, s), return_counts=True)
(Shape(u1), Shape(u1, dtype=int64))
>>> env.assume(b * s <= 100)
>>> bool(env.ask("u0 <= 100").core), bool(env.ask("u1 >= 1").core)
(True, True)
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> rules["topk"](env, (b, s), 5)
(Shape(b, 5), Shape(b, 5, dtype=int64))
>>> [guard.text for guard in env.guards()]
['s >= 5']
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import is_positive, numel
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced, without
from shapes.rules.broadcasting import agree, agree_all, broadcast, same
from shapes.rules.expectations import expect_axes, expect_one_of
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import count, empty, filled, trues, typed
from shapes.symbolic.choices import Int, sym_and, sym_max, sym_not, sym_or

WHOLE = ("int64", "int32", "int16", "int8", "uint8")


@rule("nonzero")
def nonzero(env: ShapeEnv, input: Shape, *, as_tuple: bool = False) -> Shape | tuple[Shape, ...]:
    """A row of coordinates for each element that is not 0, or one list of them for each axis."""
    number = trues(env, input)
    if not as_tuple:
        return Shape((number, len(input)), dtype="int64")
    return tuple([Shape((number,), dtype="int64") for _ in range(max(len(input), 1))])


@rule("argwhere")
def argwhere(env: ShapeEnv, input: Shape) -> Shape:
    """A row of coordinates for each element that is not 0."""
    return Shape((trues(env, input), len(input)), dtype="int64")


@rule("nonzero_static")
def nonzero_static(env: ShapeEnv, input: Shape, *, size: Int, fill_value: int = -1) -> Shape:
    """As many rows of coordinates as are asked for."""
    env.require(size >= 0, "size: expected at least 0")
    return Shape((size, len(input)), dtype="int64")


@rule("masked_select")
def masked_select(env: ShapeEnv, input: Shape, mask: Shape) -> Shape:
    """One element for each True in the mask, which broadcasts with the input."""
    typed(mask, ("bool",), "mask")
    sizes = broadcast(env, input, mask)
    as_large = len(sizes) == len(mask) and all(map(same, sizes, mask))
    return Shape((trues(env, mask) if as_large else count(env, numel(sizes)),), dtype=input.dtype)


@rule("item")
def item(env: ShapeEnv, input: Shape) -> Shape:
    """No axes: a number known only at run time."""
    env.require(numel(input) == 1, "input: expected one element")
    return Shape((), dtype=input.dtype)


# ---------------------------------------------------------------------- distinct elements


@rule("unique", schema="input, sorted=True, return_inverse=False, return_counts=False, dim=None")
def unique(
    env: ShapeEnv, input: Shape, return_inverse: bool, return_counts: bool, dim: int | None
) -> Shape | tuple[Shape, ...]:
    """One of each element or slice; where in these every one is found; how often each occurs."""
    return _asked(_distinct(env, input, dim), return_inverse, return_counts)


@rule("unique_consecutive")
def unique_consecutive(
    env: ShapeEnv, input: Shape, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Shape | tuple[Shape, ...]:
    """One of each run of equal elements or slices; which run every one is in; how long each is."""
    return _asked(_distinct(env, input, dim), return_inverse, return_counts)


@rule("unique_dim", schema="input, dim, sorted=True, return_inverse=False, return_counts=False")
def unique_dim(env: ShapeEnv, input: Shape, dim: int) -> tuple[Shape, ...]:
    """One of each slice; where in these every one is found; how often each occurs."""
    return _distinct(env, input, dim)


def _asked(found: tuple[Shape, Shape, Shape], inverse: bool, counts: bool) -> Shape | tuple[Shape, ...]:
    if not inverse and not counts:
        return found[0]
    return (found[0], *([found[1]] if inverse else []), *([found[2]] if counts else []))


def _distinct(env: ShapeEnv, input: Shape, dim: int | None) -> tuple[Shape, Shape, Shape]:
    """Distinct elements or slices, the inverse and the counts."""
    if dim is None:
        number = _some(env, input, numel(input))
        values, inverse = Shape((number,), dtype=input.dtype), Shape(input, dtype="int64")
    else:
        if not input:
            raise ShapeError(f"dim={dim}: a tensor without axes has no slices")
        axis = axis_of(dim, len(input))
        others = filled((*input[:axis], *input[axis + 1 :]))
        if others is not True:
            env.require(others, "input: has slices without elements")
        number = _some(env, (input[axis],), input[axis])
        values, inverse = Shape(replaced(input, axis, number), dtype=input.dtype), Shape((input[axis],), dtype="int64")
    return values, inverse, Shape((number,), dtype="int64")


def _some(env: ShapeEnv, sizes: Sequence[Int], most: Int) -> Int:
    """The number of distinct elements among so many: at least one if there are any."""
    if isinstance(most, int):
        return env.unbacked(lo=1, hi=most) if most > 0 else 0
    number = env.unbacked(lo=0)
    env.postulate(sym_and(number <= most, sym_or(number >= 1, empty(sizes))))
    return number


# ---------------------------------------------------------------------- repeating by number


@rule("repeat_interleave")
def repeat_interleave(
    env: ShapeEnv,
    input: Shape,
    repeats: Shape | Int | None = None,
    dim: int | None = None,
    *,
    output_size: Int | None = None,
) -> Shape:
    """The axis as long as the repeats of its elements add up to; all elements in one axis where none is given."""
    if repeats is None:
        if len(input) != 1:
            raise ShapeError(f"repeats: expected 1 axis, not {len(input)}")
        typed(input, ("int64", "int32"), "repeats")
        return Shape((_repeated(env, input[0], output_size, input),), dtype=input.dtype)
    if dim is None:
        sizes: tuple[Int, ...] = (numel(input),)
        axis = 0
    elif not input:
        raise ShapeError(f"dim={dim}: a tensor without axes has none to repeat along")
    else:
        sizes, axis = tuple(input), axis_of(dim, len(input))
    length = sizes[axis]
    if not isinstance(repeats, Shape):
        env.require(repeats >= 0, "repeats: expected at least 0")
        total = length * repeats
        if output_size is not None:
            agree(env, output_size, total, "output_size: is not what the repeats add up to")
        return Shape(replaced(sizes, axis, total), dtype=input.dtype)
    expect_axes(repeats, 0, "repeats", most=1)
    typed(repeats, ("int64", "int32"), "repeats")
    if repeats and not same(repeats[0], length):
        env.require(sym_or(repeats[0] == length, repeats[0] == 1), "repeats: not one for each element")
    return Shape(replaced(sizes, axis, _repeated(env, length, output_size, repeats)), dtype=input.dtype)


def _repeated(env: ShapeEnv, length: Int, output_size: Int | None, repeats: Shape) -> Int:
    """The sum of the repeats of all elements: zero for no element."""
    if output_size is not None:
        return output_size
    known = repeats.elements if repeats and same(repeats[0], length) else None
    if known is not None and known.total is not None:
        return known.total
    total = env.unbacked(lo=0)
    if known is not None and known.hi is not None:
        env.postulate(total <= known.hi * length)
    if not is_positive(length):
        env.postulate(sym_or(length != 0, total == 0))
    return total


# ---------------------------------------------------------------------- counting


@rule("bincount")
def bincount(env: ShapeEnv, input: Shape, weights: Shape | None = None, minlength: Int = 0) -> Shape:
    """A bin for each number up to the largest one, at least as many as are asked for."""
    env.require(minlength >= 0, "minlength: expected at least 0")
    if len(input) != 1:
        raise ShapeError(f"input: expected 1 axis, not {len(input)}")
    typed(input, WHOLE, "input")
    dtype: str | None = "int64"
    if weights is not None:
        dtype = weights.dtype if weights.dtype in (None, "float32") else "float64"
        if len(weights) != 1:
            env.require(input[0] == 0, "weights: expected 1 axis")
        elif not same(weights[0], input[0]):
            env.require(sym_or(weights[0] == input[0], input[0] == 0), "weights: not one for each element")
    if isinstance(input[0], int) and input[0] == 0:
        return Shape((minlength,), dtype=dtype)
    if is_positive(input[0]):
        bins = env.unbacked(lo=1)
        env.postulate(bins >= minlength)
    else:
        bins = env.unbacked(lo=0)
        none, least = input[0] == 0, bins >= minlength
        env.postulate(sym_and(least, sym_or(none, bins >= 1), sym_or(sym_not(none), bins == minlength)))
    if input.elements is not None and input.elements.hi is not None:
        env.postulate(bins <= sym_max(minlength, input.elements.hi + 1))
    return Shape((bins,), dtype=dtype)


@rule("histc")
def histc(env: ShapeEnv, input: Shape, bins: Int = 100, min: float = 0, max: float = 0) -> Shape:
    """One count for each bin."""
    env.require(bins >= 1, "bins: expected at least 1")
    env.require(min <= max, "min: is larger than max")
    return Shape((bins,), dtype=input.dtype)


@rule("histogram", schema="input, bins, *, range=None, weight=None, density=False")
def histogram(
    env: ShapeEnv, input: Shape, bins: Shape | Int, range: Sequence[float] | None, weight: Shape | None
) -> tuple[Shape, Shape]:
    """One count for each bin, and the edges of the bins, one more; where the edges are given, the bins between them."""
    edges: Int
    if isinstance(bins, Shape):
        if len(bins) != 1:
            raise ShapeError(f"bins: expected 1 axis, not {len(bins)}")
        edges = bins[0]
        env.require(edges >= 2, "bins: expected at least 2 edges")
    else:
        env.require(bins >= 1, "bins: expected at least 1")
        edges = bins + 1
    if range is not None and range[0] > range[1]:
        raise ShapeError("range: its end comes before its start")
    if weight is not None:
        agree(env, numel(weight), numel(input), "weight: has not as many elements as the input")
    return Shape((edges - 1,), dtype=input.dtype), Shape((edges,), dtype=input.dtype)


@rule("sort", schema="input, dim=-1, descending=False, stable=False")
def sort(env: ShapeEnv, input: Shape, dim: int) -> tuple[Shape, Shape]:
    """The sizes of the input: the elements, and where they were."""
    axis_of(dim, len(input))
    return Shape(input, dtype=input.dtype), Shape(input, dtype="int64")


@rule("argsort")
def argsort(env: ShapeEnv, input: Shape, dim: int = -1, descending: bool = False, stable: bool = False) -> Shape:
    """The sizes of the input."""
    axis_of(dim, len(input))
    return Shape(input, dtype="int64")


@rule("msort")
def msort(env: ShapeEnv, input: Shape) -> Shape:
    """The sizes of the input."""
    return Shape(input, dtype=input.dtype)


@rule("topk", schema="input, k, dim=-1, largest=True, sorted=True")
def topk(env: ShapeEnv, input: Shape, k: Int, dim: int) -> tuple[Shape, Shape]:
    """The axis k long: the elements, and where they were."""
    axis = axis_of(dim, len(input))
    _among(env, k, 0, input[axis] if input else 1)
    sizes = replaced(input, axis, k) if input else ()
    return Shape(sizes, dtype=input.dtype), Shape(sizes, dtype="int64")


@rule("kthvalue")
def kthvalue(env: ShapeEnv, input: Shape, k: Int, dim: int = -1, keepdim: bool = False) -> tuple[Shape, Shape]:
    """Without the axis, or with 1 in its place: the element, and where it was."""
    axis = axis_of(dim, len(input))
    _among(env, k, 1, input[axis] if input else 1)
    sizes = input if not input else replaced(input, axis, 1) if keepdim else without(input, (axis,))
    return Shape(sizes, dtype=input.dtype), Shape(sizes, dtype="int64")


def _among(env: ShapeEnv, k: Int, least: int, length: Int) -> None:
    if not isinstance(k, int) or k < least:
        env.require(k >= least, "k: out of range")
    env.require(k <= length, "k: out of range")


@rule("searchsorted")
def searchsorted(
    env: ShapeEnv,
    sorted_sequence: Shape,
    input: Shape | Int | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Shape | None = None,
) -> Shape:
    """The sizes of what is looked for, in one sequence or each row in its own."""
    expect_one_of(side, ("left", "right", None), "side")
    if side == "left" and right:
        raise ShapeError("side='left': contradicts right=True")
    wanted = input if isinstance(input, Shape) else Shape()
    expect_axes(sorted_sequence, 1, "sorted_sequence")
    if len(sorted_sequence) > 1:
        if len(wanted) != len(sorted_sequence):
            raise ShapeError("input: has another rank than the sequences that it is looked for in")
        agree_all(env, wanted[:-1], sorted_sequence[:-1], "input: not one row for each sequence")
    if sorter is not None:
        typed(sorter, ("int64",), "sorter")
        if len(sorter) != len(sorted_sequence):
            raise ShapeError("sorter: has another rank than the sequence")
        agree_all(env, sorter, sorted_sequence, "sorter: has other sizes than the sequence")
    return Shape(wanted, dtype="int32" if out_int32 else "int64")


@rule("bucketize", schema="input, boundaries, *, out_int32=False, right=False")
def bucketize(env: ShapeEnv, input: Shape | Int | float, boundaries: Shape, out_int32: bool) -> Shape:
    """The sizes of the input."""
    if len(boundaries) != 1:
        raise ShapeError(f"boundaries: expected 1 axis, not {len(boundaries)}")
    return Shape(input if isinstance(input, Shape) else (), dtype="int32" if out_int32 else "int64")
