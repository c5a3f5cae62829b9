"""Loop splitting at concatenation boundaries: on each side the piece selector is constant.

    >>> from solver.terms.interner import Interner
    >>> from backends.loops.affine import Affine
    >>> from backends.loops.kernels import Apply, IndexValue, SizeValue
    >>> terms = Interner()
    >>> half = SizeValue(terms.symbol("half"), "int64")
    >>> before = Apply("lt", (IndexValue(Affine.axis(1, terms)), half), "bool")
    >>> behind = Apply("ge", (IndexValue(Affine.axis(1, terms)), half), "bool")
    >>> (point,) = split_points([before, behind], 1)
    >>> point.known(is_behind=True) == {before: False, behind: True}
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backends.loops.affine import is_one
from backends.loops.kernels import Apply, IndexValue, Scalar, SizeValue
from solver.terms.expr import Expr

MOST: Final = 2
"""Split points of one loop; other boundaries are loaded under masks."""
MOST_VALUES: Final = 160
"""Values at most of a kernel whose loops are split, for the size of the code."""
MOST_UNROLLED: Final = 4
"""Copies at most of the innermost loops, where others are split as well."""


@dataclass(frozen=True, slots=True)
class SplitPoint:
    """An index along an axis, `bound - shift`, and the comparisons that are constant on either side of it.

    Attributes:
        before: the comparisons, and their result before the index; behind it they have the other.
    """

    bound: Expr
    shift: Expr
    before: tuple[tuple[Scalar, bool], ...]

    def known(self, *, is_behind: bool) -> dict[Scalar, bool]:
        return {value: holds is not is_behind for value, holds in self.before}


def split_points(values: Sequence[Scalar], axis: int | None) -> tuple[SplitPoint, ...]:
    """The points at which to split the loop of an axis, those first that decide most comparisons."""
    found: dict[Expr, SplitPoint] = {}
    if axis is None or len(values) > MOST_VALUES:
        return ()
    for value in values:
        match value:
            case Apply(operation="lt" | "ge", operands=(IndexValue(index=index), SizeValue(size=bound))):
                along = index.coefficient(axis)
                if along is not None and is_one(along) and len(index.terms) == 1:
                    place = bound - index.constant
                    point = found.get(place, SplitPoint(bound, index.constant, ()))
                    more = (value, value.operation == "lt")
                    found[place] = SplitPoint(point.bound, point.shift, (*point.before, more))
    return tuple(sorted(found.values(), key=lambda point: -len(point.before))[:MOST])


def outer_split_points(
    values: Sequence[Scalar], axes: Sequence[int], versions: int
) -> dict[int, tuple[SplitPoint, ...]]:
    """The split points of the other loops, outermost first; the code has `versions` copies without them."""
    found: dict[int, tuple[SplitPoint, ...]] = {}
    for axis in axes:
        at = split_points(values, axis)
        if at and versions * (2 * len(at)) <= MOST_UNROLLED:
            versions *= 2 * len(at)
            found[axis] = at
    return found
