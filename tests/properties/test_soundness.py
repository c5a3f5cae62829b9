"""Every rung, alone and together, against Python on every point of a small box, and against z3 and cvc5 on the whole
line.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings

from solver.decide.consistency import consistency
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, Never
from solver.errors import Contradictory, Undefined
from solver.knowledge.facts import Conflict
from solver.rungs.effort import RUNGS
from solver.syntax.parser import parse
from solver.terms.prop import Prop
from tests.effort import examples
from tests.properties.programs import Case, cases, known
from tests.properties.second_opinion import cvc5_refutes, z3_refutes

OWN = sorted(RUNGS - {"sympy", "z3"})


def judge(case: Case, rungs: frozenset[str]) -> None:
    """Decide, and hold the answer against the truth."""
    found = known(case)
    if found is None:
        assert not list(case.points()), "consistent facts were refused"
        return
    facts, names = found
    parsed = parse(case.question, names, facts.interner)
    try:
        verdict = decide(facts, parsed.prop, domain=parsed.domain, solvers=False, rungs=rungs)
    except Undefined:
        assert not case.truths()
        return
    except Contradictory:
        assert not list(case.points())
        return
    match verdict:
        case Always():
            assert False not in case.truths(), f"{verdict!r} by {verdict.rung}"
            assert verdict.check()
        case Never():
            assert True not in case.truths(), f"{verdict!r} by {verdict.rung}"
            assert verdict.check()
        case Depends():
            assert case.truths() == {True, False}
            assert verdict.check()


@pytest.mark.parametrize("rung", OWN)
@given(case=cases())
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
def test_each_rung_alone(rung: str, case: Case) -> None:
    """If this fails, a rung gives a wrong answer, or a proof that does not check."""
    judge(case, frozenset((rung, "bounds")))


@given(case=cases())
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@example(Case(((0, 3),), ("x != 1", "x % 2 == 1"), "x == 3"))
@example(Case(((-3, 3), (-3, 3)), ("x * y >= 1",), "x != 0"))
@example(Case(((0, 5), (0, 5)), ("x // y == 2",), "x >= 2 * y"))
def test_the_whole_ladder(case: Case) -> None:
    """If this fails, some answer is wrong: the worst bug there is."""
    judge(case, RUNGS)


@given(case=cases(facts=5))
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
def test_consistency_has_three_states(case: Case) -> None:
    """If this fails, consistent facts are refused, or a witness does not satisfy the facts."""
    found = known(case)
    if found is None:
        assert not list(case.points())
        return
    facts, _ = found
    outcome = consistency(facts, solvers=False)
    if isinstance(outcome, Conflict):
        assert not list(case.points())
    values = facts.witness()
    if values is not None:
        assert facts.holds_at(values)
        assert list(case.points())


def core_of(case: Case) -> tuple[list[Prop], Prop] | None:
    """The core of a decided question over unbounded symbols, and its conclusion."""
    found = known(case, bounded=False)
    if found is None:
        return None
    facts, names = found
    parsed = parse(case.question, names, facts.interner)
    try:
        verdict = decide(facts, parsed.prop, domain=parsed.domain, solvers=False)
    except (Undefined, Contradictory):
        return None
    if not isinstance(verdict, (Always, Never)):
        return None
    goal = verdict.prop if isinstance(verdict, Always) else verdict.prop.negation
    return [p for fact in verdict.core for p in (fact.domain, fact.prop)] + [parsed.domain], goal


@pytest.mark.parametrize("refutes", [z3_refutes, cvc5_refutes], ids=["z3", "cvc5"])
@given(case=cases())
@settings(max_examples=examples(75), suppress_health_check=[HealthCheck.too_slow])
def test_cores_hold_alone(refutes, case: Case) -> None:  # type: ignore[no-untyped-def]
    """If this fails, a core is not enough to prove what it is given for."""
    found = core_of(case)
    if found is not None:
        core, goal = found
        assert not refutes(core, goal)
