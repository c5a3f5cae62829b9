"""A deadline ends the solver and the witness search where they work, not only between rungs."""

from __future__ import annotations

from time import perf_counter

import pytest

from solver.integer.certificate import Point, Row, Unknown
from solver.integer.solving import solve
from solver.integer.work_budget import Exhausted, Limits, WorkBudget
from solver.knowledge.facts import Facts
from solver.samples.repair import Search
from solver.terms.interner import Interner

ROWS = [Row(((0, 3), (1, -5)), 1, True), Row(((0, 1),), -7, False), Row(((1, 1), (0, -1)), 9, False)]


@pytest.mark.parametrize("late", [False, True])
def test_a_deadline_ends_a_linear_problem(late: bool) -> None:
    """If this fails, one linear problem with long numbers outlasts a time-out by seconds."""
    budget = WorkBudget(Limits(), perf_counter() + (-1 if late else 1_000))
    outcome = solve(ROWS, budget=budget)
    assert isinstance(outcome, Unknown if late else Point)
    if late:
        with pytest.raises(Exhausted, match="time"):
            budget.spend(1)


@pytest.mark.parametrize("late", [False, True])
def test_a_deadline_ends_a_witness_search(late: bool) -> None:
    """If this fails, a search for a witness outlasts a time-out."""
    interner = Interner()
    x, y = interner.symbol("x"), interner.symbol("y")
    known = Facts.empty(interner).declare_range(x, 0, 99).declare_range(y, 0, 99)
    budget = WorkBudget(Limits(), perf_counter() + (-1 if late else 1_000))
    found = Search(known, known.samples, known.samples.alive[0], budget=budget).reach([interner.eq(x * 7 + y, 90)])
    assert (found is None) is late
