"""Shrinking of assignments: each symbol as close to a target as a condition accepts, by bisection.

    >>> from shapes.environment.shrink_assignment import shrink_assignment
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> (atom,) = s.symbols
    >>> shrink_assignment({atom: 1000}, {atom: 0}, lambda values: values[atom] >= 8)[atom]
    8

Sampled counterexamples are arbitrary; the smallest explain best. Bisection needs logarithmically many evaluations per
symbol and does not rely on monotonicity: only accepted assignments are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from solver.terms.expr import Atom

ROUNDS: Final = 3
LARGEST: Final = 1 << 70


def shrink_assignment(
    values: Mapping[Atom, int], targets: Mapping[Atom, int], accepted: Callable[[Mapping[Atom, int]], bool]
) -> dict[Atom, int]:
    """The assignment with each symbol moved towards its target while it is accepted (coordinate descent)."""
    current = dict(values)
    for _ in range(ROUNDS):
        before = dict(current)
        for atom, target in targets.items():
            good = current[atom]
            bad = target
            if good == bad or abs(good - bad) > LARGEST:
                continue
            if accepted({**current, atom: bad}):
                current[atom] = bad
                continue
            while abs(good - bad) > 1:
                middle = (good + bad) // 2
                if accepted({**current, atom: middle}):
                    good = middle
                else:
                    bad = middle
            current[atom] = good
        if current == before:
            break
    return current
