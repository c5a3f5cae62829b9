"""The values that one symbol may take, simplest first: what witnesses are shrunk to.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 3, None).learn_prop(terms.divides(8, s))
    >>> Choices(known, s.atom).values[:3]
    [8, 16, 24]
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.base import Knowledge
from solver.terms.expr import Atom

FIRST: Final = 16
DEGENERATE: Final = 256
"""Sizes are positive: this many positive values are simpler than 0."""
DOUBLED: Final = range(5, 13)
"""The smallest values of a residue class, and powers of two of its stride after them."""


class Choices:
    """The values that one symbol may take by its bounds and residue class, simplest first."""

    __slots__ = ("atom", "first", "high", "low", "negative", "offset", "stride", "values")

    def __init__(self, known: Knowledge, atom: Atom) -> None:
        self.atom = atom
        canonical, _ = known.canonical(atom.expr)
        self.low, self.high = known.low(canonical), known.high(canonical)
        self.stride = canonical.content() if canonical.terms else 1
        self.offset = canonical.constant % self.stride
        start = 1 if self.low is None or self.low < 1 else self.low
        self.first = start + (self.offset - start) % self.stride
        end = -1 if self.high is None or self.high >= 0 else self.high
        self.negative = end - (end - self.offset) % self.stride
        self.values = self._values()

    def few(self, count: int) -> list[int]:
        """The simplest values, some of them not positive."""
        return [*self.values[:count], *[value for value in self.values[count:] if value in (0, self.negative)]]

    def _values(self) -> list[int]:
        """The simplest values."""
        stride, first = self.stride, self.first
        candidates = [first + stride * k for k in range(FIRST)] + [self.negative - stride * k for k in range(FIRST)]
        if self.offset == 0:
            candidates.append(0)
            candidates += [value for k in DOUBLED for value in (stride << k, first + (stride << k))]
        low, high = self.low, self.high
        within = [value for value in candidates if (low is None or value >= low) and (high is None or value <= high)]
        return sorted(set(within), key=complexity)


def complexity(value: int) -> int:
    """The size of a number; one that is not positive counts as larger."""
    return value if value > 0 else DEGENERATE - 4 * value
