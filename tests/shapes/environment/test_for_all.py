"""Bound variables with a range: what is proven inside holds for every value, and nothing about them is left.

If one of these fails, a proposition is taken for proven that is false for some value, an assumption leaks out of its
scope, or a counterexample is none.
"""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapes import Always, Contradiction, Depends, GaveUp, Never, ShapeEnv, ShapeError, SymInt, UndecidedGuard
from shapes.errors import ForeignSymbol, NotProven
from tests.effort import examples


@pytest.fixture
def env() -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None)
    env.sizes("n w")
    return env


def test_a_variable_has_exactly_its_range(env: ShapeEnv) -> None:
    """Both ends are asked about, and nothing beyond them."""
    env.assume("w >= 2")
    with env.for_all("r", 0, "w") as r:
        assert isinstance(env.ask(r >= 0), Always) and isinstance(env.ask("r < w"), Always)
        for question in ("r == 0", "r == w - 1", "r == 1"):
            assert isinstance(env.ask(question), Depends), question
        assert isinstance(env.ask("r == w"), Never)
    with env.for_all("r", 3, 5) as r:
        assert isinstance(env.ask("r == 3 or r == 4"), Always)
    with env.for_all("r", "-n", "n") as r:
        assert isinstance(env.ask("r < n"), Always) and isinstance(env.ask("r >= 0"), Depends)


def test_nothing_about_the_variable_is_left(env: ShapeEnv) -> None:
    """Neither the variable, nor that its range has a value, nor an assumption about it outlives the scope."""
    before = env.known, env.events, dict(env.names), env.ranges
    with env.for_all("r", 0, "w"):
        env.assume("r <= n")
        env.assume("r + n >= 1")
        assert isinstance(env.ask("w >= 1"), Always)
    assert (env.known, env.events, dict(env.names), env.ranges) == before
    assert isinstance(env.ask("w >= 1"), Depends)
    with pytest.raises(ZeroDivisionError), env.for_all("r", 0, "w"):
        env.guard_or_false("r == 0")
        raise ZeroDivisionError
    assert (env.known, env.events, dict(env.names), env.ranges) == before


def test_what_does_not_mention_the_variable_stays_where_the_range_has_a_value(env: ShapeEnv) -> None:
    """A promise that was made for every value says nothing where there is none."""
    with env.for_all("r", 0, "w"):
        env.assume("n >= 7")
    assert isinstance(env.ask("n >= 7"), Depends)
    env.assume("w >= 1")
    assert isinstance(env.ask("n >= 7"), Always)
    with env.for_all("r", 0, "w"):
        env.assume("n % 2 == 0")
    assert "n % 2 == 0" in [fact.text for fact in env.facts()]


def test_an_assumption_about_the_variable_is_about_every_value(env: ShapeEnv) -> None:
    """Instances at the ends, at other variables and at numbers follow; what follows for no instance does not."""
    env.assume("w >= 4")
    with env.for_all("r", 0, "w"):
        env.assume("r * r <= n")
        assert isinstance(env.ask("(w - 1)*(w - 1) <= n"), Always)
        assert isinstance(env.ask("n >= 9"), Always)
        assert isinstance(env.ask("n >= 4"), Always)
        assert isinstance(env.ask("w * w <= n"), Depends)
        with env.for_all("q", 0, "w"):
            assert isinstance(env.ask("q * q <= n"), Always)
    assert isinstance(env.ask("n >= 9"), Depends)


def test_what_follows_from_an_instance_that_nobody_stated_is_unknown(env: ShapeEnv) -> None:
    """Evidence rests on stated facts: the answer names the instance, and is decided once that is assumed."""
    env.assume("w >= 3")
    with env.for_all("r", 0, "w"):
        env.assume("n % (r + 1) == 0")
        assert isinstance(env.ask("n % w == 0"), Always), "an end of the range"
        verdict = env.ask("n % 2 == 0")
        assert isinstance(verdict, GaveUp) and "at r = 1" in verdict.reason
        env.assume("n % 2 == 0")
        verdict = env.ask("n % 2 == 0")
        assert isinstance(verdict, Always) and verdict.check()


def test_sessions_saved_inside_have_the_same_answers(env: ShapeEnv, tmp_path: Path) -> None:
    """Instances of assumptions are facts of the record: questions that rest on them are answered as they were."""
    file = tmp_path / "inside.jsonl"
    questions = ("w <= n + 1", "w <= n", "q <= n", "q + 1 <= n")
    with env.for_all("r", 0, "w"):
        env.assume("r <= n")
        with env.for_all("q", 0, "w"):
            verdicts = [type(env.ask(question)) for question in questions]
            exported = env.export("smtlib")
            env.save(file)
            copy = ShapeEnv.load(file)
            assert [type(copy.ask(question)) for question in questions] == verdicts
    assert verdicts == [Always, Depends, Always, Depends] and exported.count("status unsat") >= 2


def test_an_assumption_goes_with_a_rollback(env: ShapeEnv) -> None:
    """An assumption about every value during a stretch that is rolled back decides nothing."""
    with env.for_all("r", 0, "w"):
        with env.speculate():
            env.assume("r < n")
            assert isinstance(env.ask("w <= n"), Always)
        assert isinstance(env.ask("w <= n"), Depends)


def test_an_open_answer_is_asked_again_after_an_assumption(env: ShapeEnv) -> None:
    """Witnesses that satisfy the assumption at their own value only decide no more."""
    with env.for_all("r", 0, "w"):
        assert isinstance(env.ask("n + 1 >= w"), Depends)
        env.assume("r <= n")
        assert isinstance(env.ask("n + 1 >= w"), Always)


def test_other_symbols_of_the_scope_are_of_each_value(env: ShapeEnv) -> None:
    """A number that every rank has for itself is bounded by its own rank, not by the least."""
    with env.for_all("r", 0, "w"):
        env.symbol("rows")
        env.assume("rows <= r")
        assert isinstance(env.ask("rows < w"), Always) and isinstance(env.ask("rows == 0"), Depends)


def test_checks_at_run_time_of_every_value_are_refused(env: ShapeEnv) -> None:
    """A check that would be dropped at the end of the scope is not taken for a fact."""
    with env.for_all("r", 0, "w") as r:
        with pytest.raises(UndecidedGuard, match="no run checks it for all r"):
            env.expect_true("r < n")
        with pytest.raises(UndecidedGuard):
            bool(r == 0)
        with pytest.raises(UndecidedGuard):
            env.require("n // r >= 0")
        env.expect_true("r <= w")
        u = env.unbacked("u", lo=0)
        env.expect_true(u < 9)
    assert env.runtime_asserts() == ()


def test_guards_inside_stay(env: ShapeEnv) -> None:
    """A branch on inputs inside is a guard of the run."""
    env = ShapeEnv(origin=lambda: None)
    env.sizes("n w", hints=(10, 4))
    with env.for_all("r", 0, "w"):
        assert env.guard("n > 5") is True
    assert [str(guard) for guard in env.guards()] == ["n > 5"]


def test_mistakes(env: ShapeEnv) -> None:
    """Empty ranges, taken names and ends that make no sense are errors that leave nothing behind."""
    before = env.known, env.events
    for low, high in ((3, 3), ("n", "n"), ("w + 1", "w")):
        with pytest.raises(Contradiction), env.for_all("r", low, high):
            pytest.fail("there is no value")
    with pytest.raises(ShapeError, match="already"), env.for_all("n", 0, 3):
        pytest.fail("the name is taken")
    with pytest.raises(ShapeError, match="size="), env.for_all("r", 0, 2.5):  # type: ignore[arg-type]
        pytest.fail("no integer")
    with env.for_all("r", 0, "n // w"):
        assert isinstance(env.ask("w >= 1"), Always), "the end of the range makes sense inside"
    assert (env.known, env.events, env.ranges) == (*before, ())


def test_forks_and_copies_are_inside_of_the_scope(env: ShapeEnv) -> None:
    """A fork, and an environment from a pickle, know the ranges that are open."""
    with env.for_all("r", 0, "w"):
        env.assume("r <= n")
        others = [env.fork(), pickle.loads(pickle.dumps(env))]
    others.append(env.fork(for_all=("r", 0, "w")))
    others[-1].assume("r <= n")
    for other in others:
        assert isinstance(other.ask("n + 1 >= w"), Always)
        with pytest.raises(UndecidedGuard):
            other.expect_true("r == 0")
    assert "r" not in env.names


# ---------------------------------------------------------------------- lemmas


def test_a_lemma_holds_for_values_of_the_range(env: ShapeEnv) -> None:
    """An instance is a fact for hypotheses; one outside of the range is refused."""
    env.assume("w >= 1")
    with env.for_all("r", 0, "w"):
        lemma = env.lemma("r * (n//w) + n//w <= n")
    assert repr(lemma) == "<r * (n//w) + n//w <= n, for all r>"
    for value in (0, "w - 1", "w // 2"):
        with env.hypothesis(lemma.at(value)):
            assert isinstance(env.ask(lemma.at(r=value)), Always)
    for value in ("w", "n", 7):
        with pytest.raises(ShapeError, match="which does not follow here"):
            lemma.at(value)
    with pytest.raises(ShapeError, match="2 values"):
        lemma.at(0, 1)
    for wrong in ({"q": 0}, {"r": 0}):
        with pytest.raises(ShapeError, match="expected one value"):
            lemma.at(0, **wrong)
    with pytest.raises(ForeignSymbol):
        lemma.at()
    with env.for_all("r", 0, "w - 1"):
        assert isinstance(env.ask(lemma.at("r + 1")), Always), "another variable of the same name"


def test_a_lemma_needs_the_facts_of_its_proof(env: ShapeEnv) -> None:
    """A lemma that was proven under an assumption is refused where that is gone, and where the value breaks it."""
    mark = env.checkpoint()
    env.assume("w >= 1 and n >= 10")
    with env.for_all("r", 0, "w"):
        env.assume("r <= 5")
        lemma = env.lemma("r + 5 <= n")
    assert isinstance(env.ask(lemma.at(0)), Always)
    with pytest.raises(ShapeError, match="needs `r <= 5`"):
        lemma.at("w - 1")
    env.rollback(mark)
    with pytest.raises(ShapeError, match="needs `w >= 1 and n >= 10`"):
        lemma.at(0)


def test_a_lemma_with_a_domain(env: ShapeEnv) -> None:
    """An instance is given only where it makes sense."""
    with env.for_all("r", 0, "w"):
        lemma = env.lemma("n // r <= n")
    with pytest.raises(ShapeError, match="makes sense where"):
        lemma.at(0)
    env.assume("w >= 3")
    assert isinstance(env.ask(lemma.at(2)), Always)


def test_what_is_not_proven_names_the_values(env: ShapeEnv) -> None:
    """A planted mistake comes with the values at which it shows, bound variables first."""
    env.assume("w >= 1")
    with env.for_all("r", 0, "w") as r:
        with pytest.raises(NotProven, match="for all r: false at r=") as caught:
            env.lemma("min((r + 1)*ceildiv(n, w), n) - 1 == min((r + 1)*ceildiv(n, w), n)")
        sizes = caught.value.sizes
        assert sizes is not None and next(iter(sizes)) == "r" and 0 <= sizes["r"] < sizes["w"]
        with pytest.raises(NotProven) as caught:
            env.lemma("(r + 1)*(n//w + 1) <= n")
        sizes = caught.value.sizes
        assert sizes is not None and list(sizes) == ["r", "n", "w"]
        assert (sizes["r"] + 1) * (sizes["n"] // sizes["w"] + 1) > sizes["n"] and sizes["r"] < sizes["w"]
        assert pickle.loads(pickle.dumps(caught.value)).sizes == sizes
        assert isinstance(r, SymInt)


# ---------------------------------------------------------------------- against enumeration

LIMIT = 5
SIDES = ("r", "n", "w", "r*n", "r*w", "n//w", "n % w", "min(r, n)", "max(n - r, 0)", "(r + 1)*(n//w)", "ceildiv(n, w)")
COMPARISON = st.builds(
    lambda a, k, b, c, op: f"{k}*({a}) {op} {b} + {c}",
    st.sampled_from(SIDES),
    st.integers(1, 2),
    st.sampled_from(SIDES),
    st.integers(-2, 2),
    st.sampled_from(["<=", "==", "!="]),
)


def holds(text: str, values: dict[str, int]) -> bool:
    return bool(eval(text, {"ceildiv": lambda a, b: -(-a // b), **values}))


@settings(max_examples=examples(150, thorough=2000), deadline=None, derandomize=True)
@given(st.lists(COMPARISON, max_size=2), st.lists(COMPARISON, min_size=1, max_size=3))
def test_answers_agree_with_enumeration(assumptions: list[str], questions: list[str]) -> None:
    """Always is true, and Never false, for all ranks of all small worlds in which every rank keeps the assumptions; an
    open answer has two such worlds."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("n w")
    env.assume("w >= 1")
    worlds = [
        (n, w)
        for n, w in itertools.product(range(9), range(1, LIMIT))
        if all(holds(text, {"n": n, "w": w, "r": r}) for text in assumptions for r in range(w))
    ]
    with env.for_all("r", 0, "w"):
        try:
            for text in assumptions:
                env.assume(text)
        except Contradiction:
            assert not worlds
            return
        for question in questions:
            try:
                verdict = env.ask(question)
            except Contradiction:
                assert not worlds
                return
            truths = {holds(question, {"n": n, "w": w, "r": r}) for n, w in worlds for r in range(w)}
            match verdict:
                case Always():
                    assert truths <= {True}, question
                case Never():
                    assert truths <= {False}, question
                case Depends():
                    for at, truth in ((verdict.true_values, True), (verdict.false_values, False)):
                        values = {atom.name: value for atom, value in at.items()}
                        assert 0 <= values["r"] < values["w"] and holds(question, values) is truth
                        ranks = range(values["w"])
                        assert all(holds(text, {**values, "r": r}) for text in assumptions for r in ranks)
                case GaveUp():
                    pass
            if not isinstance(verdict, GaveUp):
                assert verdict.check()
