"""Comparisons of the index along the lanes with a uniform value, as in a causal mask, done in narrow integers.

    >>> from solver.terms.interner import Interner
    >>> from backends.loops.affine import Affine
    >>> from backends.loops.kernels import Apply, IndexValue
    >>> terms = Interner()
    >>> row, column = IndexValue(Affine.axis(0, terms)), IndexValue(Affine.axis(1, terms))
    >>> seen = Apply("ge", (row, column), "bool")
    >>> found = by_lane(seen, 1, {column, seen})
    >>> found.operation, found.place is column, found.bound is row
    ('le', True, True)

Indices have 64 bits, so vectors of them would be the widest of a kernel, and all others as short in elements. But
`start + lane <= bound` is `lane <= bound - start`, and that difference only matters between -1 and the number of lanes:
numbers of any width will do.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from backends.loops.affine import is_one
from backends.loops.kernels import Apply, Constant, IndexValue, Scalar, SizeValue

MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
"""The same comparison with its operands exchanged."""
SMALL: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class ByLane:
    """`place + addends` compared with a bound; each addend has its sign."""

    operation: str
    place: IndexValue
    addends: tuple[tuple[str, Scalar], ...]
    bound: Scalar

    @property
    def operands(self) -> tuple[Scalar, ...]:
        """The operands of the comparison, all uniform."""
        return (self.bound, *[value for _, value in self.addends])


def by_lane(value: Scalar, lanes: int | None, varying: Collection[Scalar]) -> ByLane | None:
    """Match such a comparison; `varying` are the values that differ between lanes."""
    if lanes is None or not isinstance(value, Apply) or value.operation not in MIRRORED:
        return None
    first, second = value.operands
    if first.dtype != "int64":
        return None
    for operation, moving, bound in ((value.operation, first, second), (MIRRORED[value.operation], second, first)):
        if moving in varying and bound not in varying:
            found = _moving(moving, lanes)
            if found is not None:
                return ByLane(operation, *found, bound)
    return None


def _moving(value: Scalar, lanes: int) -> tuple[IndexValue, tuple[tuple[str, Scalar], ...]] | None:
    """A value with unit stride along the lanes, as an index and addends."""
    match value:
        case IndexValue(index=index, dtype="int64"):
            step = index.coefficient(lanes)
            return (value, ()) if step is not None and is_one(step) else None
        case Apply(operation="add" | "sub" as operation, operands=(first, second)):
            pairs = [(first, second)] + [(second, first)] * (operation == "add")
            for moving, added in pairs:
                found = _moving(moving, lanes) if _is_small(added, lanes) else None
                if found is not None:
                    return found[0], (*found[1], ("+" if operation == "add" else "-", added))
    return None


def _is_small(value: Scalar, lanes: int) -> bool:
    """Return True if a value is uniform, and small enough for a sum not to wrap."""
    match value:
        case Constant(value=number):
            return abs(number) < SMALL
        case IndexValue(index=index):
            return lanes not in index.axes
    return isinstance(value, SizeValue)
