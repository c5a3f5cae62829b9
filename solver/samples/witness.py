"""Witnesses: satisfying assignments, materialized on demand.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.samples.witness import Witness
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None, hint=48)
    >>> Witness(0).values(known), Witness(0, {s.atom: 7}).values(known)
    ({s: 48}, {s: 7})
"""

from __future__ import annotations

from collections.abc import Mapping

from solver.floats.ordinals import double
from solver.knowledge.facts import Facts
from solver.syntax.precedence import number
from solver.terms.expr import Atom


def shown_value(atom: Atom, value: int) -> str:
    """The value as text: a symbol that stands for the bits of a double is shown as the double."""
    if atom in atom.expr.interner.doubles and 0 <= value < 1 << 64:
        return repr(double(value))
    return number(value).text


class Witness:
    """An assignment of all symbols: a row of the samples with some symbols changed, materialized on demand."""

    __slots__ = ("_values", "moved", "row")

    def __init__(self, row: int, moved: Mapping[Atom, int] | None = None) -> None:
        self.row = row
        self.moved = moved
        self._values: dict[Atom, int] | None = None

    @staticmethod
    def of(values: dict[Atom, int]) -> Witness:
        """An assignment given as values."""
        witness = Witness(0)
        witness._values = values
        return witness

    def values(self, facts: Facts) -> dict[Atom, int]:
        values = self._values
        if values is None:
            values = facts.samples.row_values(facts.all_symbols(), self.row)
            if self.moved:
                for atom, value in self.moved.items():
                    if atom.definition is None:
                        values[atom] = value
            self._values = values
        return values
