"""Sizes near the edge: an assignment moved as close to the boundary of a condition as it will go.

    >>> from shapes.environment.shrink_assignment import moved
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> (atom,) = s.symbols
    >>> moved({atom: 1000}, {atom: 0}, lambda values: values[atom] >= 8)[atom]
    8

Samples find sizes somewhere; people understand the smallest. Bisection towards a target needs a few evaluations per
symbol and assumes nothing: only assignments that were accepted are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from solver.terms.expr import Atom

ROUNDS: Final = 3
LARGEST: Final = 1 << 70


def moved(
    values: Mapping[Atom, int], targets: Mapping[Atom, int], accepted: Callable[[Mapping[Atom, int]], bool]
) -> dict[Atom, int]:
    """The assignment with the targets' symbols moved towards them one after the other, as long as it stays accepted."""
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
