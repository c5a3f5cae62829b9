"""The cost of questions: efforts, time-outs, and attempts that are not repeated."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shapes import Always, GaveUp, ShapeEnv
from shapes.errors import ShapeError, UndecidedGuard
from solver.rungs.effort import WORK

FACT = "x*y == 2*x + y + 9"
HARD = "x <= 12"  # takes more than a question may cost by default


def hard(*, solvers: bool = True) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=solvers)
    env.symbol("x", 1)
    env.symbol("y", 1)
    env.assume(FACT)
    return env


@pytest.mark.parametrize("effort", ["fast", "default"])
def test_only_thorough_questions_take_their_time(effort: str) -> None:
    env = hard()
    verdict = env.ask(HARD, effort=effort)
    assert isinstance(verdict, GaveUp) and "z3" not in verdict.tried
    assert isinstance(env.ask(HARD, effort="thorough"), Always)
    assert isinstance(env.ask(HARD, effort=effort), Always)  # what is known costs nothing


def test_full_is_another_word_for_thorough() -> None:
    assert env_answers("full") == env_answers("thorough")


def env_answers(effort: str) -> tuple[str, str]:
    verdict = hard().ask(HARD, effort=effort)
    return type(verdict).__name__, verdict.rung


def test_branches_never_load_a_solver() -> None:
    program = f"""
import sys
from shapes import ShapeEnv, UndecidedGuard
env = ShapeEnv(origin=lambda: None)
x, y = env.unbacked("x", 1), env.unbacked("y", 1)
env.expect_true("{FACT}")
try:
    env.guard("{HARD}")
except UndecidedGuard:
    print(sorted({{"z3", "sympy"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_given_up_says_what_it_cost() -> None:
    costs = []
    for effort in ("fast", "default"):
        verdict = hard().ask(HARD, effort=effort)
        assert isinstance(verdict, GaveUp) and verdict.seconds > 0
        costs.append(verdict.work)
    assert 0 < costs[0] <= 3 * WORK["fast"] < costs[1] <= 4 * WORK["default"]


def test_a_question_ends_at_its_time_out() -> None:
    env = hard()
    at_once, long = 0, 600.0
    verdict = env.ask(HARD, effort="thorough", timeout=at_once)
    assert isinstance(verdict, GaveUp) and "timeout" in verdict.reason and "z3" not in verdict.tried
    assert isinstance(env.ask(HARD, effort="thorough", timeout=long), Always)
    for wrong in (-1, "soon", float("nan"), True):
        with pytest.raises(ShapeError, match=r"timeout=.*: expected seconds from 0"):
            env.ask("x >= 7", timeout=wrong)


def test_one_form_is_tried_once() -> None:
    """Other spellings of an unknown question, and its negation, are unknown at once under the same facts."""
    env = hard(solvers=False)
    first = env.ask(HARD)
    assert isinstance(first, GaveUp) and first.work > 0
    for other in ("12 >= x", "x > 12", "2*x - 12 <= x", "not (x >= 13)"):
        verdict = env.ask(other)
        assert isinstance(verdict, GaveUp) and verdict.tried == first.tried
        assert verdict is first or verdict.work == 0
    env.assume("y <= 1000000000")  # one more fact: it is tried again
    verdict = env.ask(HARD)
    assert not isinstance(verdict, GaveUp) or verdict.work > 0


def test_solvers_that_are_not_there_change_no_default_answer() -> None:
    for question in (HARD, "x >= 1", "x*y >= 1", "x + y == 13", "x*x - y*y == 1"):
        with_solvers, without = hard().ask(question), hard(solvers=False).ask(question)
        assert type(with_solvers) is type(without) and with_solvers.rung == without.rung


def test_a_branch_that_is_given_up_says_so() -> None:
    env = ShapeEnv(origin=lambda: None)
    env.unbacked("x", 1)
    env.unbacked("y", 1)
    env.expect_true(FACT)
    with pytest.raises(UndecidedGuard, match="x <= 12"):
        env.guard(HARD)
