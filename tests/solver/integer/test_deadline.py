"""A deadline ends the solver and the witness search where they work, not only between rungs."""

from __future__ import annotations

import pytest

from solver.integer.certificate import Point, Row
from solver.integer.solving import solve
from solver.integer.work_budget import Limits, WorkBudget
from solver.knowledge.facts import Facts
from solver.samples.repair import Search
from solver.terms.deadline import Late, limited
from solver.terms.interner import Interner

ROWS = [Row(((0, 3), (1, -5)), 1, True), Row(((0, 1),), -7, False), Row(((1, 1), (0, -1)), 9, False)]


def test_a_deadline_ends_a_linear_problem() -> None:
    """If this fails, one linear problem with long numbers outlasts a time-out by seconds."""
    with limited(1_000):
        assert isinstance(solve(ROWS, budget=WorkBudget(Limits())), Point)
    with limited(-1), pytest.raises(Late):
        solve(ROWS, budget=WorkBudget(Limits()))


def test_a_deadline_ends_a_witness_search() -> None:
    """If this fails, a search for a witness outlasts a time-out."""
    interner = Interner()
    x, y = interner.symbol("x"), interner.symbol("y")
    known = Facts.empty(interner).declare_range(x, 0, 99).declare_range(y, 0, 99)
    goal = [interner.eq(x * 7 + y, 90)]
    search = Search(known, known.samples, known.samples.alive[0], budget=WorkBudget(Limits()))
    with limited(-1), pytest.raises(Late):
        search.reach(goal)
    with limited(1_000):
        assert search.reach(goal) is not None
