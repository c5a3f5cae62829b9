"""Views of a tensor: their strides, and when the strides allow another shape.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape
    >>> from shapes.rules.viewing import reshaped, view_strides
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t = env.sizes("b s t", lo=1)
    >>> view_strides((b, s, 64), (64 * s, 64, 1), (b * s, 64))
    (True, (64, 1))
    >>> view_strides((b, s, 64), (t, 64, 1), (b * s, 64))           # rows that need not follow each other
    (b == 1 or s == 1 or 64*s == t, (64 if s >= 2 else t, 1))

Axes can be joined where each steps over all of the next one; an axis of size 1 has no step. So a shape is possible if
at every boundary between two axes these can be joined or the other shape has a boundary as well.

Sizes of a reshaped tensor:

    >>> h = env.symbol("h", lo=1)
    >>> reshaped(env, (b, s, 64 * h), (b, s, -1, 64)), reshaped(env, (b, s, h), (-1, 8))
    ((b, s, h, 64), (b*h*s//8, 8))
    >>> [guard.text for guard in env.guards()]
    ['b*h*s % 8 == 0']

Sizes that stay cancel, so that what is required is about the others alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import contiguous_strides, is_empty, is_positive, numel, simple
from shapes.errors import ShapeError
from shapes.rules.axes import replaced
from shapes.rules.broadcasting import same
from shapes.rules.shape import Shape
from shapes.rules.structure import at_least, simplified
from shapes.symbolic.choices import Int, Truth, sym_and, sym_ite, sym_not, sym_or
from shapes.symbolic.numbers import SymBool


def reshaped(env: ShapeEnv, sizes: Sequence[Int], target: Sequence[Int]) -> tuple[Int, ...]:
    """The target, with a -1 resolved; the number of elements has to stay the same."""
    missing = _missing(env, target)
    left, wanted, common = _cancelled(sizes, [size for axis, size in enumerate(target) if axis != missing])
    if missing is not None:
        for size in (*wanted, *common):
            if not is_positive(size):
                env.require(size >= 1, "beside an empty axis, a size of -1 could be any")
        return replaced(target, missing, _divided(env, numel(left), numel(wanted)))
    before, after = numel(left), numel(wanted)
    if not same(before, after):
        empty = [size == 0 for size in common if not is_positive(size)]
        env.require(sym_or(before == after, *empty), "the number of elements is another one")
    return tuple(target)


def _missing(env: ShapeEnv, target: Sequence[Int]) -> int | None:
    """The axis of which the size is left open."""
    missing = None
    for axis, size in enumerate(target):
        if isinstance(size, int):
            if size == -1:
                if missing is not None:
                    raise ShapeError("only one size can be -1")
                missing = axis
            elif size < 0:
                raise ShapeError(f"size {size} of axis {axis} is negative")
        elif not at_least(size, 0):
            env.require(size >= 0, "a size is negative")
    return missing


def _cancelled(sizes: Sequence[Int], target: Sequence[Int]) -> tuple[list[Int], list[Int], list[Int]]:
    """The sizes that only the one has, that only the other has, and that both have."""
    left, wanted, common = list(sizes), list[Int](), list[Int]()
    for size in target:
        place = next((place for place, one in enumerate(left) if same(one, size)), None)
        if place is None:
            wanted.append(size)
        else:
            common.append(left.pop(place))
    return left, wanted, common


def _divided(env: ShapeEnv, whole: Int, part: Int) -> Int:
    """A quotient that has to be exact, by a number that is not zero."""
    if isinstance(part, int) and part == 1:
        return whole
    rest = simplified(whole % part, whole, part)
    env.require(rest == 0, "the number of elements is not a multiple of the given sizes")
    return simplified(whole // part, whole, part)


Strides = tuple[Int, ...]


def viewed(x: Shape, sizes: Sequence[Int], strides: Sequence[Int] | None, storage_offset: Int | None = None) -> Shape:
    """A tensor on the elements of another one; its strides are given if the other has some."""
    if x.strides is None:
        return Shape(sizes, dtype=x.dtype)
    offset = x.storage_offset if storage_offset is None else storage_offset
    return Shape(sizes, dtype=x.dtype, strides=strides, storage_offset=offset)


def with_axis(x: Shape, axis: int) -> Shape:
    """A new axis of size 1."""
    strides = x.strides
    if strides is None:
        return Shape((*x[:axis], 1, *x[axis:]), dtype=x.dtype)
    step: Int = x[axis] * strides[axis] if axis < len(x) else 1
    return viewed(x, (*x[:axis], 1, *x[axis:]), (*strides[:axis], step, *strides[axis:]))


PLACES: Final[dict[tuple[int, int], tuple[int, ...]]] = {
    (0, 1): (0,), (0, 2): (0, 0), (1, 2): (0,), (0, 3): (0, 0, 0), (1, 3): (0, 2), (2, 3): (2,),
}  # fmt: skip
"""The positions of axes of size 1 that a tensor of so few axes gets to have so many."""


def with_axes(x: Shape, rank: int) -> Shape:
    """At least so many axes: a number becomes a row, a row a matrix, a matrix gets an innermost axis."""
    for axis in PLACES.get((len(x), rank), ()):
        x = with_axis(x, axis)
    return x


def permuted(x: Shape, order: Sequence[int]) -> Shape:
    """The axes in another order."""
    strides = x.strides
    return viewed(x, [x[axis] for axis in order], None if strides is None else [strides[axis] for axis in order])


def view_strides(sizes: Sequence[Int], strides: Sequence[Int], target: Sequence[Int]) -> tuple[Truth, Strides]:
    """The condition that a tensor of these strides can be viewed in a shape of as many elements, and the strides of the
    view.
    """
    if len(sizes) == len(target) and all(same(one, other) for one, other in zip(sizes, target)):
        return True, tuple(strides)
    if any(isinstance(size, int) and size == 0 for size in sizes):
        return True, contiguous_strides(target)
    axes = [axis for axis, size in enumerate(sizes) if not _is_one(size)]
    wanted = [axis for axis, size in enumerate(target) if not _is_one(size)]
    old = Axes([sizes[axis] for axis in axes], [strides[axis] for axis in axes])
    new = [target[axis] for axis in wanted]
    found = dict(zip(wanted, old.strides_of(new)))
    result: list[Int] = [1] * len(target)
    for axis in reversed(range(len(target))):
        if axis in found:
            result[axis] = found[axis]
        elif axis + 1 < len(target):
            result[axis] = result[axis + 1] * target[axis + 1]
    return old.readable_as(new), tuple(result)


class Axes:
    """Sizes and strides of the axes that are not known to have size 1."""

    def __init__(self, sizes: Sequence[Int], strides: Sequence[Int]) -> None:
        self.sizes, self.strides, self.rank = sizes, strides, len(sizes)
        self.joined = [self._is_joined(boundary) for boundary in range(self.rank)]

    def _is_joined(self, boundary: int) -> bool:
        """Return True if the axes after a boundary merge, at all sizes, with the axis before."""
        if boundary == 0:
            return False
        size, stride, before = self.sizes[boundary], self.strides[boundary], self.strides[boundary - 1]
        whole = same(before, size * stride)
        if not whole and not is_positive(size):
            # torch's strides count an empty axis as 1; without elements every shape is possible
            whole = same(before, contiguous_strides((1, size))[0] * stride)
        return whole and (boundary + 1 == self.rank or at_least(size, 2) or self._is_joined(boundary + 1))

    def readable_as(self, target: Sequence[Int]) -> Truth:
        """The condition that a shape of as many elements is possible."""
        possible: list[Truth] = []
        for (start, first), (stop, last) in pairwise(self.matches(target)):
            for boundary in range(start + 1, stop):
                if not self.joined[boundary]:
                    inner = numel(self.sizes[boundary:stop])
                    ends = [simple(inner == numel(target[place:last])) for place in range(first + 1, last + 1)]
                    otherwise = [simple(self.sizes[boundary - 1] == 1), *ends]
                    possible.append(sym_or(*otherwise, self._steps_over(boundary - 1, boundary, otherwise)))
        return simple(sym_or(is_empty(self.sizes), sym_and(*possible))) if possible else True

    def _steps_over(self, axis: int, other: int, otherwise: Sequence[Truth]) -> Truth:
        """The condition that an axis steps over all of the next one that has more elements than one, or something else
        holds.
        """
        if other == self.rank:
            return True
        size = self.sizes[other]
        over = simple(self.strides[axis] == size * self.strides[other])
        single = simple(size == 1)
        if single is False or at_least(size, 2) or any(_is_same(single, one) for one in otherwise):
            return over
        further = self._steps_over(axis, other + 1, otherwise)
        return sym_or(sym_and(single, further), sym_and(sym_not(single), over))

    def matches(self, target: Sequence[Int]) -> list[tuple[int, int]]:
        """The boundaries that both shapes have, whatever the sizes: as many elements before them, or after."""
        found = [(0, 0)]
        for boundary in range(1, self.rank):
            before, after = numel(self.sizes[:boundary]), numel(self.sizes[boundary:])
            for place in range(found[-1][1] + 1, len(target)):
                if same(after, numel(target[place:])) or same(before, numel(target[:place])):
                    found.append((boundary, place))
                    break
        return [*found, (self.rank, len(target))]

    def strides_of(self, target: Sequence[Int]) -> list[Int]:
        """The strides of a shape that is possible."""
        if not self.rank:
            return list(contiguous_strides(target))
        result: list[Int] = []
        matches = self.matches(target)
        for (start, first), (stop, last) in pairwise(matches):
            result += [self._stride_of(numel(target[axis + 1 : last]), start, stop) for axis in range(first, last)]
        return result

    def _stride_of(self, elements: Int, start: int, stop: int) -> Int:
        """The distance of elements that are this far apart in reading order, within some of the axes."""
        lasts = [axis for axis in range(start, stop) if axis + 1 == stop or not self.joined[axis + 1]]
        result: Int = 0
        for place, last in enumerate(lasts):
            inner = numel(self.sizes[last + 1 : stop])
            # also exact where the axis joins those further in: it steps over all of them
            stride = elements * self.strides[last] if _is_one(inner) else _over(elements, self.strides[last], inner)
            if place == 0:
                result = stride
            else:
                reach = numel(self.sizes[lasts[place - 1] + 1 : stop])
                result = sym_ite(elements < reach, stride, result)
        return result


def _over(elements: Int, stride: Int, inner: Int) -> Int:
    """The step of `elements` elements along an axis that steps over `inner` ones at a time."""
    if isinstance(elements, int) and elements == 1:
        return stride
    return elements * stride // (inner if is_positive(inner) else contiguous_strides((1, inner))[0])


def _is_one(size: Int) -> bool:
    return isinstance(size, int) and size == 1


def _is_same(p: Truth, q: Truth) -> bool:
    return isinstance(p, SymBool) and isinstance(q, SymBool) and p.prop is q.prop
