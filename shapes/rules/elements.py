"""Facts about the elements of integer and boolean tensors, from which sizes are made.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
    >>> from shapes.rules.elements import Elements
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, n = env.sizes("b n")
    >>> rules["nonzero"](env, Shape((b,), dtype="bool", elements=Elements(total=n)))
    Shape(n, 1, dtype=int64)

A boolean counts as 0 or 1, so the total of a mask is the number of elements that it selects.
"""

from __future__ import annotations

from dataclasses import dataclass

from shapes.symbolic.choices import Int


@dataclass(frozen=True, slots=True)
class Elements:
    """Facts about the elements of a tensor; None where nothing is known.

    Attributes:
        lo, hi: bounds of each element.
        total: the sum of all elements.
        ordered: True if no element of a tensor with one axis is smaller than the one before it.
        distinct: True if no two elements are equal.
        first, last: of a tensor with one axis, which has at least one element.
    """

    lo: Int | None = None
    hi: Int | None = None
    total: Int | None = None
    ordered: bool = False
    distinct: bool = False
    last: Int | None = None
    first: Int | None = None

    def with_more(self, other: Elements) -> Elements:
        """These facts, completed by those of another record of the same elements."""
        return Elements(
            other.lo if self.lo is None else self.lo,
            other.hi if self.hi is None else self.hi,
            other.total if self.total is None else self.total,
            self.ordered or other.ordered,
            self.distinct or other.distinct,
            other.last if self.last is None else self.last,
            other.first if self.first is None else self.first,
        )
