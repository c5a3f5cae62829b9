"""Linear constraints over the integers: a point, or a certificate that there is none. Knows nothing of expressions.

    >>> x, y = 0, 1
    >>> rows = [Row(((x, 4), (y, -6)), -2, True), Row(((x, 1),), -10, False)]     # 4*x - 6*y == 2, x >= 10
    >>> solve(rows, budget=Budget())
    Point(values=(11, 7))
    >>> solve([*rows, Row(((y, -1),), 6, False)], budget=Budget())                # and y <= 6
    Infeasible(certificate=Refutation(steps=(...), branch=None))
    >>> minimize(rows, ((y, 1),), budget=Budget())
    Bound(value=7, steps=(...))

`certificate` has the language of certificates, `search` the order of the methods, `equalities`, `simplex` and
`lattice` one method each. The search is complete: every system is decided if the budget is large enough. It is
deterministic: the same rows in the same order give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from solver.integer.certificate import (
    Bound,
    Branch,
    Budget,
    Combine,
    Infeasible,
    Pairs,
    Point,
    Refutation,
    Row,
    Unbounded,
    Unknown,
)
from solver.integer.derivation import Contradiction, certificate, scaled, steps
from solver.integer.equalities import System
from solver.integer.meter import Exhausted, Meter
from solver.integer.search import explore
from solver.integer.simplex import Dictionary

__all__ = [
    "solve", "minimize", "Row", "Budget",
    "Point", "Infeasible", "Unknown", "Bound", "Unbounded",
    "Refutation", "Combine", "Branch",
]  # fmt: skip


def solve(rows: Sequence[Row], *, budget: Budget) -> Point | Infeasible | Unknown:
    """Integers that satisfy all rows, or a proof that none do."""
    system = System.of_question(rows, Meter(budget))
    try:
        outcome = explore(system)
    except Exhausted as limit:
        return Unknown(f"budget of {limit}")
    if isinstance(outcome, list):
        return Point(tuple(outcome))
    return Infeasible(certificate(len(rows), system.journal, outcome))


def minimize(
    rows: Sequence[Row], objective: Pairs, *, budget: Budget
) -> Bound | Unbounded | Infeasible | Unknown:
    """A lower bound of a form: the minimum of the rational relaxation (after equalities are solved), rounded up."""
    system = System.of_question(rows, Meter(budget), goal=objective)
    try:
        contradiction = system.tidy()
        if contradiction is not None:
            return Infeasible(certificate(len(rows), system.journal, contradiction))
        assert system.goal is not None
        vector, parts = system.goal
        dictionary = Dictionary([row.vector for row in system.inequalities], system.width, system.meter, vector)
        multipliers = dictionary.restore()
        if multipliers is not None:
            sum_of_rows = tuple([p for number, m in multipliers for p in scaled(system.inequalities[number].parts, m)])
            return Infeasible(certificate(len(rows), system.journal, Contradiction(sum_of_rows)))
        assert dictionary.goal is not None
        if dictionary.unbounded_goal or dictionary.maximise(dictionary.goal) is not None:
            return Unbounded()
    except Exhausted as limit:
        return Unknown(f"budget of {limit}")
    denominator, constant = dictionary.goal[:2]
    columns = zip(dictionary.columns, dictionary.goal[2:])
    used = [p for number, t in columns for p in scaled(system.inequalities[number].parts, -t) if t]
    content = gcd(*[c for _, c in objective]) or 1
    value = -(constant // (denominator * content)) * content
    return Bound(value, steps(len(rows), system.journal, (*scaled(parts, denominator), *used)))
