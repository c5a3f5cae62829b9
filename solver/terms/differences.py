"""Long sums by their differences: in a chain of n clamps each sum is the one before it and a few terms.

    >>> from solver.terms.differences import LONG, differences_of
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> sizes = [terms.symbol(f"s{i}") for i in range(LONG + 1)]
    >>> long = terms.sum(sizes[:-1])
    >>> base, sign, added, constant = differences_of([long, 5 - long - sizes[-1]])[5 - long - sizes[-1]]
    >>> base is long, sign, len(added), constant
    (True, -1, 1, 5)

So the values of all sums take n steps and not their square (strength reduction by finite differences).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Protocol, TypeVar

from solver.terms.coefficients import Terms

LONG: Final = 24
"""From so many terms or atoms on, sums that differ little are evaluated by their differences."""


class Sum(Hashable, Protocol):
    """A sum of monomials with coefficients, and a constant."""

    @property
    def terms(self) -> Terms: ...

    @property
    def constant(self) -> int: ...


S = TypeVar("S", bound=Sum)
Difference = tuple[S, int, Terms, int]
"""A sum as a multiple of another, some terms and a constant."""


def differences_of(sums: Iterable[S]) -> dict[S, Difference[S]]:
    """The long sums that are shorter as one of the two before them, or its negative, plus a difference."""
    found: dict[S, Difference[S]] = {}
    recent: list[S] = []
    for each in sums:
        if len(each.terms) < LONG or each in recent:
            continue
        shortest = len(each.terms) // 2
        for base in recent:
            for sign in (1, -1):
                terms = _difference(each.terms, base.terms, sign, shortest)
                if terms is not None:
                    shortest = len(terms)
                    found[each] = (base, sign, terms, each.constant - sign * base.constant)
        recent = [*recent[-1:], each]
    return found


def _difference(one: Terms, other: Terms, sign: int, limit: int) -> Terms | None:
    """The terms of `one - sign*other`; none if they are no fewer than the limit."""
    if abs(len(one) - len(other)) >= limit:
        return None
    coefficients = dict(one)
    for m, c in other:
        left = coefficients.get(m, 0) - sign * c
        if left:
            coefficients[m] = left
        else:
            del coefficients[m]
    return tuple(coefficients.items()) if len(coefficients) < limit else None
