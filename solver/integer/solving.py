"""Linear integer arithmetic: a solution of linear constraints, or a certificate that there is none.

    >>> from solver.integer.certificate import Row
    >>> from solver.integer.solving import minimize, solve
    >>> from solver.integer.work_budget import Limits
    >>> x, y = 0, 1
    >>> rows = [Row(((x, 4), (y, -6)), -2, True), Row(((x, 1),), -10, False)]     # 4*x - 6*y == 2, x >= 10
    >>> solve(rows, limits=Limits())
    Point(values=(11, 7))
    >>> solve([*rows, Row(((y, -1),), 6, False)], limits=Limits())                # and y <= 6
    Infeasible(certificate=Refutation(steps=(...), branch=None))
    >>> minimize(rows, ((y, 1),), limits=Limits())
    Bound(value=7, steps=(...))

`certificate` is the language of certificates (Farkas' lemma, integer rounding, branches), `search` the order of the
methods; `equalities` eliminates, `simplex` is exact and uses Bland's rule, `lattice` reduces bases (LLL). The search is
complete within its budget, and deterministic: the same rows in the same order give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from solver.integer.certificate import (
    Bound,
    Infeasible,
    Pairs,
    Point,
    Row,
    Unbounded,
    Unknown,
)
from solver.integer.derivation import Contradiction, certificate, scaled, steps
from solver.integer.equalities import System
from solver.integer.search import explore
from solver.integer.simplex import Dictionary, Ray
from solver.integer.work_budget import Exhausted, Limits, WorkBudget


def solve(
    rows: Sequence[Row], *, limits: Limits | None = None, budget: WorkBudget | None = None
) -> Point | Infeasible | Unknown:
    """A solution of all rows, or a proof that there is none; `budget` is charged."""
    budget = budget or WorkBudget(limits or Limits())
    before = budget.work
    system = System.of_question(rows, budget)
    try:
        outcome = explore(system)
    except Exhausted as exhausted:
        return Unknown(f"budget of {exhausted}")
    if isinstance(outcome, list):
        spent = before - budget.work
        return Point(
            tuple(_nearer(rows, outcome, Limits(min(budget.work, 10 * spent), budget.cuts, budget.branches), budget))
        )
    return Infeasible(certificate(len(rows), system.journal, outcome))


def _nearer(rows: Sequence[Row], values: list[int], limits: Limits, budget: WorkBudget) -> list[int]:
    """A small point in place of a far one that a ray led to, where that is easy."""
    size = 16 + 2 * max([abs(row[1]) + max([abs(c) for _, c in row[0]], default=0) for row in rows], default=0)
    if max(map(abs, values), default=0) <= size:
        return values
    box = [Row(((variable, sign),), size, False) for variable in range(len(values)) for sign in (1, -1)]
    system = System.of_question([*rows, *box], WorkBudget(limits))
    try:
        nearer = explore(system)
    except Exhausted:
        return values
    return nearer if isinstance(nearer, list) else values


def minimize(rows: Sequence[Row], objective: Pairs, *, limits: Limits) -> Bound | Unbounded | Infeasible | Unknown:
    """A lower bound of a form: the minimum of the rational relaxation (after equalities are eliminated), rounded up."""
    system = System.of_question(rows, WorkBudget(limits), goal=objective)
    try:
        contradiction = system.tidy()
        if contradiction is not None:
            return Infeasible(certificate(len(rows), system.journal, contradiction))
        assert system.goal is not None
        vector, parts = system.goal
        dictionary = Dictionary.of([row.vector for row in system.inequalities], system.width, system.budget, vector)
        multipliers = dictionary.restore()
        if multipliers is not None:
            return Infeasible(certificate(len(rows), system.journal, Contradiction(system.sum(multipliers))))
        assert dictionary.goal is not None
        limit = Ray(0) if dictionary.unbounded_goal else dictionary.maximise(dictionary.goal)
    except Exhausted as exhausted:
        return Unknown(f"budget of {exhausted}")
    if isinstance(limit, Ray):
        return Unbounded()
    content = gcd(*[c for _, c in objective]) or 1
    value = -(limit.numerator // (limit.denominator * content)) * content
    derivation = scaled(parts, limit.denominator) + system.sum(limit.multipliers)
    return Bound(value, steps(len(rows), system.journal, derivation))
