"""An environment against Python itself: its answers are right at every point of a small box.

If one of these fails, a program is compiled on a false belief, or asking is not what it should be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shapes.testing.conformance.adapter import Answer, Environment, answer_of
from shapes.testing.conformance.cases import BIG, CASES, Case, cases, compiled, value

T = TypeVar("T")
New = Callable[[], Environment]


def on_cases(examples: int, strategy: st.SearchStrategy[T], test: Callable[[T], None]) -> None:
    """Run a test on generated cases, the same ones each time."""
    settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(test))()


def made(new: New, case: Case) -> Environment | None:
    """An environment with the symbols and facts of a case; None where it says that they contradict each other."""
    env = new()
    for name, (lo, hi) in case.bounds.items():
        env.symbol(name, lo=lo, hi=hi)
    for fact in case.facts:
        try:
            env.assume(fact)
        except NotImplementedError:
            return None
        except Exception:
            assert not list(case.points()), f"{fact} does not contradict {case}"
            return None
    return env


def asked(env: Environment, case: Case, question: str) -> Answer:
    """The answer; what the environment cannot read, or what is undefined everywhere, is open."""
    try:
        return answer_of(env.ask(question))
    except NotImplementedError:
        return "open"
    except Exception:
        assert not case.truths(), f"{question} raises, but makes sense in {case}"
        return "open"


@pytest.mark.parametrize(("case", "expected"), CASES, ids=[f"{case.facts} {case.question}" for case, _ in CASES])
def test_what_an_environment_should_know(new_environment: New, case: Case, expected: str) -> None:
    """Each answer is right; one that is only weaker is expected to fail."""
    env = made(new_environment, case)
    if expected == "contradiction":
        assert not list(case.points())
        if env is not None and asked(env, case, case.question) == "open":
            pytest.xfail("the contradiction was not found")
        return
    assert env is not None, "the facts hold together"
    answer = asked(env, case, case.question)
    if answer == "open" != expected:
        pytest.xfail(f"open, but it is {expected}")
    assert answer == expected


def test_answers_are_true_at_every_point(new_environment: New, examples: int) -> None:
    """Answers hold at every point."""

    def right(case: Case) -> None:
        env = made(new_environment, case)
        if env is None:
            return
        truths = case.truths()
        match asked(env, case, case.question):
            case "always":
                assert False not in truths
            case "never":
                assert True not in truths

    on_cases(4 * examples, cases(), right)


def test_witnesses_show_both_outcomes(new_environment: New, examples: int) -> None:
    """The witnesses of an open question satisfy both outcomes."""

    def shown(case: Case) -> None:
        env = made(new_environment, case)
        if env is None or asked(env, case, case.question) != "open" or not case.truths():
            return
        verdict = env.ask(case.question)
        for name, truth in (("true_at", True), ("false_at", False)):
            point: object = getattr(verdict, name, None)
            if isinstance(point, dict):
                # symbols that no fact connects with the question may be left out
                facts = [fact for fact in case.facts if not point.keys().isdisjoint(compiled(fact).co_names)]
                assert all(value(fact, point) for fact in facts), (name, point)
                assert value(case.question, point) == truth, (name, point)

    on_cases(examples, cases(), shown)


def test_asking_changes_nothing(new_environment: New, examples: int) -> None:
    """Answers do not depend on the questions asked before."""

    def unchanged(drawn: tuple[Case, str]) -> None:
        case, other = drawn
        env, fresh = made(new_environment, case), made(new_environment, case)
        if env is None or fresh is None:
            return
        first = asked(env, case, case.question)
        asked(env, Case(case.bounds, case.facts, other), other)
        assert asked(env, case, case.question) == first
        asked(fresh, Case(case.bounds, case.facts, other), other)
        assert asked(fresh, case, case.question) == first

    others = cases().flatmap(lambda case: st.tuples(st.just(case), st.sampled_from((*case.facts, "b >= 1", "b == 2"))))
    on_cases(examples, others, unchanged)


def test_what_was_assumed_is_known(new_environment: New, examples: int) -> None:
    """Assumed facts are known."""

    def known(case: Case) -> None:
        env = made(new_environment, case)
        if env is not None and list(case.points()):
            for fact in case.facts:
                assert asked(env, Case(case.bounds, case.facts, fact), fact) != "never"

    on_cases(examples, cases(), known)


def test_more_facts_take_no_answer_back(new_environment: New, examples: int) -> None:
    """A decided answer stays as it is when facts are added."""

    def kept(case: Case) -> None:
        *facts, last = (*case.facts, "b >= 1")
        before = Case(case.bounds, tuple(facts), case.question)
        env = made(new_environment, before)
        if env is None:
            return
        answer = asked(env, before, case.question)
        try:
            env.assume(last)
        except Exception:
            return
        opposite = {"always": "never", "never": "always"}.get(answer)
        assert asked(env, Case(case.bounds, (*facts, last), case.question), case.question) != opposite

    on_cases(examples, cases(), kept)


def test_a_contradiction_leaves_the_environment_as_it_was(new_environment: New) -> None:
    """A contradiction that was caught leaves no fact behind."""
    env = new_environment()
    env.symbol("s", lo=0, hi=100)
    env.assume("s >= 8")
    with pytest.raises(Exception):  # noqa: B017  whatever the environment calls it
        env.assume("s < 8")
    assert answer_of(env.ask("s >= 8")) == "always"
    assert answer_of(env.ask("s == 8")) == "open"


def test_sizes_beyond_machine_words(new_environment: New) -> None:
    """Integers are exact: no floats or 64-bit words are in between."""
    env = new_environment()
    env.symbol("s", lo=0, hi=4 * BIG)
    env.assume(f"3*s >= {3 * (BIG - 1)}")
    assert answer_of(env.ask(f"s >= {BIG}")) != "always"
    assert answer_of(env.ask(f"s >= {BIG - 1}")) != "never"
    assert answer_of(env.ask(f"s*s >= {BIG}")) != "never"


def test_a_rollback_takes_facts_back(new_environment: New, examples: int) -> None:
    """A rollback removes the facts of an abandoned branch."""
    if not hasattr(new_environment(), "rollback"):
        pytest.skip("it has no rollback")

    def restored(case: Case) -> None:
        *facts, last = (*case.facts, "b >= 1")
        before = Case(case.bounds, tuple(facts), case.question)
        env = made(new_environment, before)
        if env is None:
            return
        answer = asked(env, before, case.question)
        mark: object = env.checkpoint()  # type: ignore[attr-defined]
        try:
            env.assume(last)
            asked(env, Case(case.bounds, (*facts, last), case.question), case.question)
        except Exception:
            pass
        env.rollback(mark)  # type: ignore[attr-defined]
        assert asked(env, before, case.question) == answer

    on_cases(examples, cases(), restored)


def test_bounds_hold_everywhere(new_environment: New, examples: int) -> None:
    """Bounds hold at every point."""
    if not hasattr(new_environment(), "bounds"):
        pytest.skip("it has no bounds")

    def contained(case: Case) -> None:
        env = made(new_environment, case)
        if env is None:
            return
        for size in ("b", "b*b - 3*b", "b // 3", "b % 5", "max(b, 2)"):
            lo, hi = env.bounds(size)  # type: ignore[attr-defined]
            for point in case.points():
                found = value(size, point)
                assert found is not None
                assert (lo is None or lo <= found) and (hi is None or found <= hi), (size, lo, hi, point)

    on_cases(examples, cases(), contained)


def test_simplifying_keeps_the_value(new_environment: New, examples: int) -> None:
    """Simplified expressions have the same value."""
    if not hasattr(new_environment(), "simplify"):
        pytest.skip("it has no simplify")

    def same(case: Case) -> None:
        env = made(new_environment, case)
        if env is None:
            return
        for size in ("(4*b + 3) // 4", "b % 4 + b // 4 * 4", "max(b, 0) - min(b, 0)", "(b if b >= 2 else 2)"):
            simple = str(env.simplify(size))  # type: ignore[attr-defined]
            assert all(value(size, point) == value(simple, point) for point in case.points()), (size, simple)

    on_cases(examples, cases(), same)
