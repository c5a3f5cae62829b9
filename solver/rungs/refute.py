"""Assume the opposite, let it propagate, and look for a contradiction.

    >>> from solver.expr import Interner
    >>> from solver.facts import Facts
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> known = Facts.empty(terms).declare_range(a, 1, None).declare_range(b, 1, None)
    >>> known = known.assume_prop(terms.eq(a * b, 1))
    >>> decide(known, terms.eq(a, 1))
    Always(1 <= a <= None, 1 <= b <= None, a*b == 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.facts import Conflict, Facts
from solver.prop import Prop
from solver.reasons import Reason
from solver.reasons import refute as by_contradiction
from solver.rungs import linear, split

if TYPE_CHECKING:
    from solver.ladder import Climb

NESTED = 2


def prove(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """The goal, because its negation contradicts the facts."""
    if depth > NESTED:
        return None
    supposed = climb.suppose(facts, goal.negation)
    if supposed is None:
        return None
    if isinstance(supposed, Conflict):
        return by_contradiction(supposed.proof, goal)
    if not goal.parts:
        return None  # what a comparison's negation says linearly is the linear rung's
    found = contradiction(climb, supposed, depth + 1, near=goal)
    return None if found is None else by_contradiction(found, goal)


def contradiction(climb: Climb, facts: Facts, depth: int, near: Prop | None = None) -> Reason | None:
    """False, from facts and hypotheses that contradict each other."""
    if facts.pool.alive and near is None:
        return None
    start = [facts.canonical(p.expr)[0] for p in near.comparisons()] if near is not None else []
    if not start:
        return None
    if facts.pool.alive:
        return None
    found = linear.inconsistent(facts, start)
    if found is None and depth <= NESTED:
        found = split.contradiction(climb, facts, start, depth)
    return found
