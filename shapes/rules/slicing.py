"""Basic indexing: parts of tensors along their axes, read and written.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t = env.sizes("b s t", lo=1)
    >>> rules["getitem"](env, (b, s, 8), (..., -1, None, slice(t, None, 2)))
    Shape(b, 1, max(9 - t, 1)//2)
    >>> rules["getitem"](env, Shape((b, s), strides=(s, 1)), (slice(None), slice(1, -1)))
    Shape(b, max(s - 2, 0), strides=(s, 1))
    >>> rules["narrow"](env, (b, s), 1, t, 3), [guard.text for guard in env.guards()]
    (Shape(b, 3), ['t + 3 <= s'])

`x[index]` is "getitem"; "numpy.getitem" goes through an axis backwards as well. The first element, the number of
elements and the step that a slice takes of an axis:

    >>> from shapes.rules.slicing import sliced
    >>> n, m = env.sizes("n m", lo=4)
    >>> sliced(env, n, slice(1, -1)), sliced(env, n, slice(None, 100, 2)), sliced(env, n, slice(m, None))
    ((1, n - 2, 1), (0, ceildiv(min(n, 100), 2), 2), (min(m, n), max(n - m, 0), 1))
    >>> sliced(env, n, slice(None, None, -1))
    (n - 1, n, -1)

As in Python, bounds below 0 count from the end, and those outside of the axis are moved to its end: by `min` and `max`,
so that one result stands for every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING

from shapes.environment.layout import is_empty, simple
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced, without
from shapes.rules.broadcasting import agree, known
from shapes.rules.diagonals import diagonal
from shapes.rules.indexing import index
from shapes.rules.registry import Output, rule
from shapes.rules.shape import Shape
from shapes.rules.structure import at_least
from shapes.rules.viewing import viewed, with_axis
from shapes.rules.views import strided
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_max, sym_min, sym_or
from shapes.symbolic.numbers import SymInt

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

    Slice = slice[Int | None, Int | None, Int | None]
    Item = int | SymInt | Slice | Shape | EllipsisType | None


def sliced(env: ShapeEnv, size: Int, part: Slice) -> tuple[Int, Int, Int]:
    """Start, number of elements and step of a slice."""
    step: Int = 1 if part.step is None else part.step
    if not isinstance(step, int):
        env.require(step >= 1, "a step is not positive")
    elif step == 0:
        raise ShapeError("a step is 0")
    elif step < 0:
        return _backwards(env, size, part, step)
    start, stop = part.start, part.stop
    if start is None or isinstance(start, int) and start == 0:
        first: Int = 0
        last = size if stop is None else clamped(env, size, stop)
        return 0, _steps(last, step), step
    last = size if stop is None else clamped(env, size, stop)
    first = clamped(env, size, start)
    if stop is None and _is_backward(env, start) is True:
        return first, _steps(least(size, -start), step), step
    # a start behind the end gives nothing, as any start there does
    length = above(last - (start if _is_backward(env, start) is False else first))
    return first, _steps(length, step), step


def _backwards(env: ShapeEnv, size: Int, part: Slice, step: int) -> tuple[Int, Int, Int]:
    """A slice from the end towards the front."""
    first = size - 1 if part.start is None else clamped(env, size, part.start, offset=-1)
    last: Int = -1 if part.stop is None else clamped(env, size, part.stop, offset=-1)
    return first, _steps(above(first - last), -step), step


def clamped(env: ShapeEnv, size: Int, bound: Int, offset: int = 0) -> Int:
    """A bound as an index from 0 to the size; with an offset of -1, from -1 to the last element."""
    backward = _is_backward(env, bound)
    if backward is True:
        return above(size + bound, offset)
    forward = least(size + offset, bound)
    return forward if backward is False else sym_ite(backward, above(size + bound, offset), forward)


def above(value: Int, limit: int = 0) -> Int:
    """The value, or the limit where that is larger."""
    return value if at_least(value, limit) else sym_max(value, limit)


def least(a: Int, b: Int) -> Int:
    """The smaller of two numbers; the second one where bounds tell that."""
    return b if at_least(a - b, 0) else sym_min(a, b)


def _is_backward(env: ShapeEnv, bound: Int) -> Truth:
    """Return True if a bound counts from the end."""
    if at_least(bound, 0):
        return False
    backward = bound < 0
    decided = known(env, backward)
    return simple(backward) if decided is None else decided


def _steps(length: Int, step: Int) -> Int:
    """The number of elements at this step within a length."""
    if isinstance(step, int) and step == 1:
        return length
    return -(-length // step)


def part_of(env: ShapeEnv, x: Shape, axis: int, part: Slice) -> Shape:
    """A slice of one axis."""
    first, length, step = sliced(env, x[axis], part)
    sizes = replaced(x, axis, length)
    if x.strides is None:
        return Shape(sizes, dtype=x.dtype)
    stride = x.strides[axis]
    return viewed(x, sizes, replaced(x.strides, axis, stride * step), x.storage_offset + first * stride)


def picked(env: ShapeEnv, x: Shape, axis: int, index: Int) -> Shape:
    """Without one axis, of which one place is left."""
    size = x[axis]
    if not at_least(index, 0):
        env.require(index >= -size, "the index is before the start of the axis", error=IndexError)
    env.require(index < size, "the index is behind the end of the axis", error=IndexError)
    sizes = without(x, (axis,))
    if x.strides is None:
        return Shape(sizes, dtype=x.dtype)
    offset = x.storage_offset + from_front(index, size) * x.strides[axis]
    return viewed(x, sizes, without(x.strides, (axis,)), offset)


def from_front(index: Int, size: Int) -> Int:
    """An index counted from the front."""
    if at_least(index, 0):
        return index
    backward = simple(index < 0)
    return index + size if backward is True else sym_ite(backward, index + size, index)


# ---------------------------------------------------------------------- x[index]


@rule("getitem")
def getitem(env: ShapeEnv, input: Shape, index: object) -> Output:
    """Without the axes of ints, with new ones for None, and with what slices and tensors take of the others."""
    for item in items_of(index):
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            raise ShapeError(f"index: a step of {item.step}")
    return _indexed(env, input, items_of(index))


@rule("numpy.getitem")
def numpy_getitem(env: ShapeEnv, input: Shape, index: object) -> Output:
    """Without the axes of ints, with new ones for None, and with what slices take of the others."""
    items = items_of(index)
    if sum([item is Ellipsis for item in items]) > 1:
        raise ShapeError("index: ... more than once")
    if any(isinstance(item, Shape) for item in items):
        raise ShapeError("index: expected ints, slices, None and ..., not arrays")
    return _indexed(env, input, items)


def items_of(index: object) -> list[Item]:
    """The items of an index, in the order of the axes."""
    return [_item(one) for one in (index if type(index) is tuple else (index,))]


def _item(item: object) -> Item:
    if isinstance(item, bool):
        raise ShapeError(f"index: expected numbers, slices, None, ... and tensors, not {item}")
    if item is None or isinstance(item, int | SymInt | slice | Shape | EllipsisType):
        return item
    if isinstance(item, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in item):
        return Shape((len(item),), dtype="int64")
    raise ShapeError(f"index: expected numbers, slices, None, ... and tensors, not {item!r}")


def _indexed(env: ShapeEnv, x: Shape, items: Sequence[Item]) -> Output:
    left = len(x) - sum([_axes_taken(item) for item in items])
    if left < 0:
        raise ShapeError(f"index: for {len(x) - left} axes, but there are {len(x)}")
    axis = 0
    tensors: dict[int, Shape] = {}
    for item in items:
        if item is Ellipsis:
            axis += left
            continue
        if axis + (item is not None) > len(x):
            raise ShapeError("index: behind the last axis after more than one ...")
        if item is None:
            x = with_axis(x, axis)
        elif isinstance(item, slice):
            x = part_of(env, x, axis, item) if item != slice(None) else x
        elif isinstance(item, Shape):
            tensors[axis] = item
            axis += _axes_taken(item)
            continue
        else:
            x = picked(env, x, axis, item)
            continue
        axis += 1
    return _picked_by(env, x, tensors) if tensors else x


def _axes_taken(item: Item) -> int:
    """For how many axes an item of an index stands."""
    if item is None or item is Ellipsis:
        return 0
    return len(item) if isinstance(item, Shape) and item.dtype in ("bool", "uint8") else 1


def _picked_by(env: ShapeEnv, x: Shape, tensors: dict[int, Shape]) -> Output:
    """The elements that tensors take of the axes at which they stand."""
    indices: list[Shape | None] = []
    axis = 0
    while axis <= max(tensors):
        tensor = tensors.get(axis)
        indices.append(tensor)
        axis += 1 if tensor is None else max(_axes_taken(tensor), 1)
    return index(env, Shape(x, dtype=x.dtype), indices)


# ---------------------------------------------------------------------- one axis


@rule("narrow", "narrow_copy")
def narrow(env: ShapeEnv, input: Shape, dim: int, start: Int, length: Int) -> Shape:
    """One axis cut to a length; all of it has to be inside."""
    axis = _axis(input, dim)
    if not at_least(length, 0):
        env.require(length >= 0, "length is negative")
    size = input[axis]
    if not at_least(start, 0):
        env.require(start >= -size, "start is before the axis")
    first = from_front(start, size)
    env.require(first + length <= size, "the end is behind that of the axis")
    sizes = replaced(input, axis, length)
    if input.strides is None:
        return Shape(sizes, dtype=input.dtype)
    return viewed(input, sizes, input.strides, input.storage_offset + first * input.strides[axis])


@rule("select")
def select(env: ShapeEnv, input: Shape, dim: int, index: Int) -> Shape:
    """Without one axis, of which one place is left."""
    return picked(env, input, _axis(input, dim), index)


def _axis(x: Shape, dim: int) -> int:
    if not x:
        raise ShapeError("a tensor without axes")
    return axis_of(dim, len(x))


# ---------------------------------------------------------------------- writing into a part


@rule("slice_scatter")
def slice_scatter(
    env: ShapeEnv, input: Shape, src: Shape, dim: int = 0,
    start: Int | None = None, end: Int | None = None, step: Int = 1,
) -> Shape:  # fmt: skip
    """The input's sizes; those of the source are those of the slice."""
    if isinstance(step, int) and step < 1:
        raise ShapeError(f"step={step}: expected at least 1")
    return written(env, input, part_of(env, input, _axis(input, dim), slice(start, end, step)), src)


@rule("select_scatter")
def select_scatter(env: ShapeEnv, input: Shape, src: Shape, dim: int, index: Int) -> Shape:
    """The input's sizes; those of the source are those without the axis."""
    return written(env, input, picked(env, input, _axis(input, dim), index), src)


@rule("diagonal_scatter")
def diagonal_scatter(
    env: ShapeEnv, input: Shape, src: Shape, offset: Int = 0, dim1: int = 0, dim2: int = 1
) -> Shape:
    """The input's sizes; those of the source are those of the diagonal."""
    part = diagonal(env, input, offset, dim1, dim2)
    assert isinstance(part, Shape)
    return written(env, input, part, src)


@rule("as_strided_scatter")
def as_strided_scatter(
    env: ShapeEnv, input: Shape, src: Shape,
    size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None,
) -> Shape:  # fmt: skip
    """The input's sizes; those of the source are those asked for, with no element in two places."""
    part = strided(env, input, size, stride, storage_offset)
    for length, step in zip(size, stride, strict=True):
        apart = sym_or(step != 0, length <= 1, is_empty(size))
        env.require(apart, "the elements of an axis with a stride of 0 are the same")
    return written(env, input, part, src)


def written(env: ShapeEnv, x: Shape, part: Shape, src: Shape) -> Shape:
    """The tensor that is written into; the source is exactly as large as the part."""
    if len(part) != len(src):
        raise ShapeError(f"src has {len(src)} axes: expected {len(part)}")
    for size, given in zip(part, src):
        agree(env, given, size, "src has other sizes than the part that is written")
    return Shape(x, dtype=x.dtype)
