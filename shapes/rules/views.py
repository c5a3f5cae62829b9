"""Reshapes, permutations and expansions, views where the strides allow it; copies, and the parts of complex numbers.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, h = env.sizes("b s h", lo=1)
    >>> heads = rules["view"](env, Shape((b, s, 64 * h), strides=(64 * h * s, 64 * h, 1)), b, s, -1, 64)
    >>> heads
    Shape(b, s, h, 64, strides=(64*h*s, 64*h, 64, 1))
    >>> rules["transpose"](env, heads, 1, 2)
    Shape(b, h, s, 64, strides=(64*h*s, 64, 64*h, 1))
    >>> rules["view"](env, rules["transpose"](env, heads, 1, 2), b, h, 64 * s)
    Shape(b, h, 64*s, strides=(64*h*s, 64, 1))
    >>> [guard.text for guard in env.guards()]
    ['s == 1 or h == 1']

Where the input has strides, so have its views, and `view` requires of them what torch does.

    >>> turned = Shape((b, s), strides=(1, b))
    >>> rules["contiguous"](env, turned), rules["clone"](env, turned)
    (Shape(b, s, strides=(s, 1)), Shape(b, s, strides=(1, b)))
    >>> rules["view_as_complex"](env, Shape((b, s), dtype="float32"))
    Shape(b, dtype=complex64)
    >>> [guard.text for guard in env.guards()]
    ['s == 1 or h == 1', 's == 2']
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import channels_last_strides, contiguous_strides, is_empty, max_storage_index, numel
from shapes.errors import ShapeError
from shapes.rules.axes import axes_of, axis_of
from shapes.rules.broadcasting import broadcast, known, same
from shapes.rules.promotion import REAL_OF, kind_of
from shapes.rules.registry import Outputs, rule
from shapes.rules.shape import Shape, as_shape
from shapes.rules.structure import at_least, holds
from shapes.rules.viewing import permuted, reshaped, view_strides, viewed, with_axes, with_axis
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_or

Sizes = Int | Sequence[Int]


def numbers_of(sizes: Sequence[Sizes]) -> tuple[Int, ...]:
    """Sizes given one by one, or all at once."""
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        return tuple(sizes[0])
    return tuple([size for size in sizes if not isinstance(size, Sequence)])


def reshape_to(env: ShapeEnv, x: Shape, target: Sequence[Int], *, may_copy: bool = True) -> Shape:
    """Another shape of as many elements: on the same elements where their strides allow it."""
    sizes = reshaped(env, x, target)
    if x.strides is None:
        return Shape(sizes, dtype=x.dtype)
    possible, strides = view_strides(x, x.strides, sizes)
    if not may_copy:
        env.require(possible, "the strides do not allow this view")
        return viewed(x, sizes, strides)
    if known(env, possible):
        return viewed(x, sizes, strides)
    chosen = [sym_ite(possible, one, other) for one, other in zip(strides, contiguous_strides(sizes))]
    return viewed(x, sizes, chosen, sym_ite(possible, x.storage_offset, 0))


# ---------------------------------------------------------------------- another shape


@rule("reshape")
def reshape(env: ShapeEnv, input: Shape, shape: Sizes) -> Shape:
    """The target sizes, with a -1 inferred."""
    return reshape_to(env, input, numbers_of((shape,)))


@rule("view")
def view(env: ShapeEnv, input: Shape, *shape: Sizes) -> Shape:
    """The target sizes, with a -1 inferred, if the strides allow it."""
    return reshape_to(env, input, numbers_of(shape), may_copy=False)


@rule("view_as")
def view_as(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """The sizes of the other tensor, if the strides allow it."""
    return reshape_to(env, input, other, may_copy=False)


@rule("reshape_as")
def reshape_as(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """The sizes of the other tensor."""
    return reshape_to(env, input, other)


@rule("flatten")
def flatten(env: ShapeEnv, input: Shape, start_dim: int = 0, end_dim: int = -1) -> Shape:
    """Several axes collapsed to one."""
    rank = len(input)
    start, end = axis_of(start_dim, rank, "start_dim"), axis_of(end_dim, rank, "end_dim")
    if start > end:
        raise ShapeError(f"start_dim={start_dim}, end_dim={end_dim}: the end is before the start")
    if start == end and rank:
        return input
    return reshape_to(env, input, (*input[:start], numel(input[start : end + 1]), *input[end + 1 :]))


@rule("ravel")
def ravel(env: ShapeEnv, input: Shape) -> Shape:
    """All axes collapsed to one."""
    if input.strides is None:
        return Shape((numel(input),), dtype=input.dtype)
    layout = input.layout()
    offset = sym_ite(layout.is_contiguous, layout.storage_offset, 0)
    return viewed(input, (layout.numel,), (1,), offset)


@rule("unflatten")
def unflatten(env: ShapeEnv, input: Shape, dim: int, sizes: Sequence[Int]) -> Shape:
    """One axis split into several."""
    if not input or not sizes:
        raise ShapeError("expected a tensor with axes, and sizes for one of them")
    axis = axis_of(dim, len(input))
    parts = reshaped(env, (input[axis],), sizes)
    return reshape_to(env, input, (*input[:axis], *parts, *input[axis + 1 :]), may_copy=False)


# ---------------------------------------------------------------------- another order of the axes


@rule("transpose", "swapdims")
def transpose(env: ShapeEnv, input: Shape, dim0: int, dim1: int) -> Shape:
    """Two axes change places."""
    return swapped(input, axis_of(dim0, len(input), "dim0"), axis_of(dim1, len(input), "dim1"))


@rule("swapaxes")
def swapaxes(env: ShapeEnv, input: Shape, axis0: int, axis1: int) -> Shape:
    """Two axes change places."""
    return swapped(input, axis_of(axis0, len(input), "axis0"), axis_of(axis1, len(input), "axis1"))


def swapped(x: Shape, one: int, other: int) -> Shape:
    """Two axes change places."""
    order = list(range(len(x)))
    if order:
        order[one], order[other] = other, one
    return permuted(x, order)


@rule("t")
def t(env: ShapeEnv, input: Shape) -> Shape:
    """Rows become columns; fewer axes than two stay."""
    if len(input) > 2:
        raise ShapeError(f"expected at most 2 axes, not {len(input)}")
    return permuted(input, range(len(input) - 1, -1, -1))


@rule("T")
def reversed_axes(env: ShapeEnv, input: Shape) -> Shape:
    """All axes from the last to the first."""
    return permuted(input, range(len(input) - 1, -1, -1))


@rule("mT", "mH", "adjoint")
def transposed_matrices(env: ShapeEnv, input: Shape) -> Shape:
    """The last two axes change places."""
    return _transposed(input)


@rule("H")
def transposed_matrix(env: ShapeEnv, input: Shape) -> Shape:
    """Rows become columns, of a matrix or a number."""
    if len(input) > 2:
        raise ShapeError(f"expected a matrix, not {len(input)} axes")
    return _transposed(input)


def _transposed(x: Shape) -> Shape:
    if len(x) == 1:
        raise ShapeError("expected matrices, not one axis")
    return swapped(x, len(x) - 2, len(x) - 1)


@rule("permute")
def permute(env: ShapeEnv, input: Shape, *dims: int | Sequence[int]) -> Shape:
    """The axes in the order given."""
    order = axes_of([operator.index(dim) for dim in numbers_of(dims)], len(input), "dims")
    if len(order) != len(input):
        raise ShapeError(f"{len(order)} dims for {len(input)} axes")
    return permuted(input, order)


@rule("movedim", "moveaxis")
def movedim(
    env: ShapeEnv, input: Shape, source: int | Sequence[int], destination: int | Sequence[int]
) -> Shape:
    """Some axes move to new places, the others keep their order."""
    sources, places = axes_of(source, len(input), "source"), axes_of(destination, len(input), "destination")
    if len(sources) != len(places):
        raise ShapeError(f"source={source}, destination={destination}: expected as many of one as of the other")
    if not input:
        return input
    moved = dict(zip(places, sources))
    others = iter([axis for axis in range(len(input)) if axis not in sources])
    return permuted(input, [moved[axis] if axis in moved else next(others) for axis in range(len(input))])


# ---------------------------------------------------------------------- axes of size 1


def expanded(env: ShapeEnv, x: Shape, target: Sequence[Int], *, keeping: bool) -> Shape:
    """Axes of size 1 repeated, and new ones in front; a target of -1 keeps the size."""
    new = len(target) - len(x)
    if new < 0:
        raise ShapeError(f"{len(target)} sizes for {len(x)} axes")
    sizes: list[Int] = []
    strides: list[Int] = []
    for place, wanted in enumerate(target):
        size = x[place - new] if place >= new else None
        stride: Int = 0 if size is None or x.strides is None else x.strides[place - new]
        if isinstance(wanted, int) and wanted < 0:
            if wanted != -1 or size is None or not keeping:
                raise ShapeError(f"size {wanted} of axis {place} is negative")
            wanted = size
        elif not at_least(wanted, 0):
            env.require(wanted >= 0, "a size is negative")
        if size is not None and not same(size, wanted):
            env.require(sym_or(size == wanted, size == 1), "an axis is neither as long as the one wanted nor 1")
            stride = 0 if isinstance(size, int) and size == 1 else sym_ite(size == wanted, stride, 0)
        sizes.append(wanted)
        strides.append(stride)
    return viewed(x, sizes, strides)


@rule("expand")
def expand(env: ShapeEnv, input: Shape, *sizes: Sizes) -> Shape:
    """The sizes asked for; -1 keeps one."""
    return expanded(env, input, numbers_of(sizes), keeping=True)


@rule("expand_as")
def expand_as(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """The sizes of the other tensor."""
    return expanded(env, input, other, keeping=True)


@rule("broadcast_to")
def broadcast_to(env: ShapeEnv, input: Shape, size: Sizes) -> Shape:
    """The sizes asked for; -1 keeps one."""
    return expanded(env, input, numbers_of((size,)), keeping=True)


@rule("broadcast_tensors")
def broadcast_tensors(env: ShapeEnv, *tensors: Shape) -> Outputs:
    """All of the same sizes, to which they broadcast."""
    shapes = [as_shape(tensor) for tensor in tensors]
    sizes = broadcast(env, *shapes)
    return Outputs([_broadcast_to(shape, sizes) for shape in shapes])


def _broadcast_to(x: Shape, sizes: Sequence[Int]) -> Shape:
    """Sizes to which the shape is known to broadcast."""
    if x.strides is None:
        return Shape(sizes, dtype=x.dtype)
    strides: list[Int] = [0] * (len(sizes) - len(x))
    for size, wanted, stride in zip(x, sizes[len(strides) :], x.strides):
        strides.append(stride if same(size, wanted) else sym_ite(size == wanted, stride, 0))
    return viewed(x, sizes, strides)


@rule("squeeze")
def squeeze(env: ShapeEnv, input: Shape, dim: int | Sequence[int] | None = None) -> Shape:
    """Without the axes of size 1, or those of them that are named."""
    axes = axes_of(dim, len(input))
    kept = [axis for axis, size in enumerate(input) if axis not in axes or not holds(env, size == 1)]
    return permuted(input, kept)


@rule("unsqueeze")
def unsqueeze(env: ShapeEnv, input: Shape, dim: int) -> Shape:
    """A new axis of size 1."""
    return with_axis(input, axis_of(dim, len(input) + 1))


@rule("atleast_1d")
def atleast_1d(env: ShapeEnv, *tensors: object) -> Shape | Outputs:
    """A number becomes one with an axis."""
    return _each_with_axes(tensors, 1)


@rule("atleast_2d")
def atleast_2d(env: ShapeEnv, *tensors: object) -> Shape | Outputs:
    """Numbers and rows become matrices."""
    return _each_with_axes(tensors, 2)


@rule("atleast_3d")
def atleast_3d(env: ShapeEnv, *tensors: object) -> Shape | Outputs:
    """Numbers, rows and matrices get three axes."""
    return _each_with_axes(tensors, 3)


def _each_with_axes(tensors: Sequence[object], rank: int) -> Shape | Outputs:
    """Tensors given one by one, or all at once."""
    first = tensors[0] if len(tensors) == 1 else tensors
    if isinstance(first, list | tuple) and not isinstance(first, Shape):
        if first is tensors or any(isinstance(one, list | tuple) for one in first):
            return Outputs([with_axes(as_shape(tensor), rank) for tensor in first])
    return with_axes(as_shape(first), rank)


COMPLEX_OF: Final = {real: dtype for dtype, real in REAL_OF.items()}
"""The dtype of numbers that consist of two real ones."""


@rule("detach", "resolve_conj", "resolve_neg", "conj")
def detach(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    return input


@rule("contiguous")
def contiguous(env: ShapeEnv, input: Shape, memory_format: object = None) -> Shape:
    """The input's sizes, without gaps."""
    order = str(memory_format or "contiguous_format").rpartition(".")[2]
    result = packed(input, order)
    if input.strides is not None:
        layout = input.layout()
        stays = layout.is_contiguous if order == "contiguous_format" else layout.is_channels_last
        result.storage_offset = sym_ite(stays, input.storage_offset, 0)
    return result


@rule("clone")
def clone(env: ShapeEnv, input: Shape, *, memory_format: object = None) -> Shape:
    """The input's sizes, in the order of the strides, unless given."""
    order = str(memory_format or "preserve_format").rpartition(".")[2]
    if order != "preserve_format":
        return packed(input, order)
    if input.strides is not None and known(env, input.layout().is_non_overlapping_and_dense):
        return Shape(input, dtype=input.dtype, strides=input.strides)
    return Shape(input, dtype=input.dtype)


def packed(x: Shape, order: str = "contiguous_format") -> Shape:
    """A copy without gaps."""
    ranks = {"channels_last": 4, "channels_last_3d": 5}
    if order not in ranks and order != "contiguous_format":
        raise ShapeError(f"memory_format={order}: expected contiguous_format, channels_last or channels_last_3d")
    if ranks.get(order, len(x)) != len(x):
        raise ShapeError(f"memory_format={order}: expected {ranks[order]} axes, not {len(x)}")
    strides = channels_last_strides(x) if order in ranks else None if x.strides is None else contiguous_strides(x)
    return Shape(x, dtype=x.dtype, strides=strides)


@rule("as_strided")
def as_strided(
    env: ShapeEnv, input: Shape, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None
) -> Shape:
    """The sizes asked for; their elements have to be in the storage, which is a fresh one if there are no strides."""
    return strided(env, input, size, stride, storage_offset)


def strided(
    env: ShapeEnv, input: Shape, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None
) -> Shape:
    """Sizes and strides on the storage of a tensor."""
    offset = input.storage_offset if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise ShapeError(f"{len(size)} sizes, but {len(stride)} strides")
    for number in (*size, *stride, offset):
        if not at_least(number, 0):
            env.require(number >= 0, "a size, a stride or the offset is negative")
    if input.strides is None:
        inside: Truth = max_storage_index(size, stride, offset) < numel(input)
        env.require(sym_or(is_empty(size), inside), "elements outside of the storage")
    return Shape(size, dtype=input.dtype, strides=stride, storage_offset=offset)


@rule("view_as_real")
def view_as_real(env: ShapeEnv, input: Shape) -> Shape:
    """A last axis of real and imaginary part."""
    if kind_of(input.dtype) not in (None, 3):
        raise ShapeError(f"dtype={input.dtype}: expected complex numbers")
    strides = None if input.strides is None else (*[2 * stride for stride in input.strides], 1)
    dtype = None if input.dtype is None else REAL_OF.get(input.dtype)
    return _retyped(input, (*input, 2), dtype, strides, 2 * input.storage_offset)


@rule("view_as_complex")
def view_as_complex(env: ShapeEnv, input: Shape) -> Shape:
    """Without the last axis, which is real and imaginary part."""
    if not input or input.dtype is not None and input.dtype not in COMPLEX_OF:
        raise ShapeError(f"dtype={input.dtype}: expected real numbers, and an axis for both parts")
    env.require(input[-1] == 2, "the last axis does not consist of two parts")
    dtype = None if input.dtype is None else COMPLEX_OF[input.dtype]
    if input.strides is None:
        return Shape(input[:-1], dtype=dtype)
    env.require(input.strides[-1] == 1, "the two parts do not follow each other")
    env.require(input.storage_offset % 2 == 0, "the offset is not even")
    for size, stride in zip(input[:-1], input.strides):
        env.require(sym_or(stride % 2 == 0, size == 1), "a stride is not even")
    strides = [stride // 2 for stride in input.strides[:-1]]
    return _retyped(input, input[:-1], dtype, strides, input.storage_offset // 2)


@rule("real")
def real(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    return _part(input, 0) if kind_of(input.dtype) == 3 else input


@rule("imag")
def imag(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    if kind_of(input.dtype) not in (None, 3):
        raise ShapeError(f"dtype={input.dtype}: expected complex numbers")
    return _part(input, 1)


def _part(x: Shape, offset: int) -> Shape:
    """One of the two numbers that a complex one consists of."""
    strides = None if x.strides is None else [2 * stride for stride in x.strides]
    return _retyped(x, x, None if x.dtype is None else REAL_OF[x.dtype], strides, 2 * x.storage_offset + offset)


def _retyped(x: Shape, sizes: Sequence[Int], dtype: str | None, strides: Sequence[Int] | None, offset: Int) -> Shape:
    return Shape(sizes, dtype=dtype, strides=strides, storage_offset=0 if strides is None else offset)
