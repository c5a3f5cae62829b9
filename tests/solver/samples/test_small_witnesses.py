"""Witnesses are shown small, of the symbols that matter, and are witnesses."""

import time
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shapes import Depends, ShapeEnv, ShapeError
from shapes.testing.conformance.cases import value
from solver.decide.ladder import decide
from solver.knowledge.facts import Facts
from solver.terms.interner import Interner
from tests.effort import examples, processor_seconds

FACTS = ["s % 16 == 0", "b > 3", "b*s <= 10**6", "s != 64", "n < b", "b % 4 == 1 or s > 100"]
QUESTIONS = ["(b*s) % 64 == 0", "b > s", "n >= 0", "s // b == 3", "b == 2**40", "n*n > 10*b", "b % s == 1"]


@given(st.sets(st.sampled_from(FACTS)), st.sampled_from(QUESTIONS), st.integers(4, 50), st.integers(1, 50))
def test_every_witness_is_verified(facts: set[str], question: str, b: int, s: int) -> None:
    """Every witness shown is verified."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("b s", hints=(4 * b + 1, 128 * s))
    env.symbol("n", lo=None, hint=-3)
    for fact in sorted(facts):
        env.assume(fact) if env.hint(fact) else None
    verdict = env.ask(question)
    if isinstance(verdict, Depends):
        assert verdict.check()
        assert verdict.true_at.keys() == verdict.false_at.keys() >= {atom.name for atom in verdict.prop.symbols}
        true, false = verdict.found
        for before, after in ((true, verdict.true_values), (false, verdict.false_values)):
            assert after.keys() == before.keys()
            assert all(after[atom] <= max(before[atom], 4096) for atom in before)
            assert env.known.holds_at(after)


def test_many_symbols_take_bounded_time() -> None:
    """Shrinking witnesses takes bounded time for thousands of symbols."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes(" ".join(f"s{i}" for i in range(2000)), hints=[1000] * 2000)
    verdict = env.ask("s0 == s1")
    assert isinstance(verdict, Depends)
    with processor_seconds(100):
        assert verdict.true_at == {"s0": 1, "s1": 1}


def test_the_same_witnesses_however_busy_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The witnesses shown do not depend on how busy the machine is."""
    clock = iter(range(0, 10**9, 1000))
    for name in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, name, lambda: next(clock))
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("b s", hints=(96, 4096))
    env.assume("s % 16 == 0")
    verdict = env.ask("(b*s) % 64 == 0")
    assert isinstance(verdict, Depends)
    assert (verdict.true_at, verdict.false_at) == ({"b": 4, "s": 16}, {"b": 1, "s": 16})


@pytest.mark.parametrize(
    ("symbols", "facts", "question", "true", "false"),
    [
        ("a b c", "", "a == b", {"a": 1, "b": 1}, {"a": 1, "b": 2}),
        ("a b c", "b == 2*c", "a == b", {"a": 2, "b": 2, "c": 1}, {"a": 1, "b": 2, "c": 1}),
        ("a b", "a % 48 == 0", "a > 48", {"a": 96}, {"a": 48}),
        ("a", "a % 10 == 3", "a == 10**300 + 3", {"a": 10**300 + 3}, {"a": 3}),
        ("a b c", "a == b; b == c", "a == 7", {"a": 7, "b": 7, "c": 7}, {"a": 1, "b": 1, "c": 1}),
        ("a b", "a >= b*b; b > 1000", "a > 2**70", {"a": 2**70 + 1, "b": 1001}, {"a": 1001**2, "b": 1001}),
        ("a b", "a + b == 900", "a >= 600", {"a": 600, "b": 300}, {"a": 1, "b": 899}),
    ],
)
def test_witnesses_are_small_and_about_the_question(
    symbols: str, facts: str, question: str, true: dict[str, int], false: dict[str, int]
) -> None:
    """Witnesses are small, and about the question."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes(symbols, hints=[640] * len(symbols.split()), lo=1) if not facts else [
        env.unbacked(name, lo=1) for name in symbols.split()
    ]
    for fact in facts.split(";") if facts else ():
        env.assume(fact)
    verdict = env.ask(question)
    assert isinstance(verdict, Depends)
    assert (verdict.true_at, verdict.false_at) == (true, false)
    assert verdict.check()


WORDS = ["a", "b", "a + b", "a*b", "a//3", "b % 5", "max(a, 2*b)", "min(a, b)", "b//a", "a - b", "3*a + 1"]


@given(st.data())
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
def test_no_witness_has_a_larger_value_than_it_needs(data: st.DataObject) -> None:
    """No witness has a larger value than it needs."""

    def proposition() -> str:
        right = data.draw(st.one_of(st.sampled_from(WORDS), st.integers(0, 12).map(str)))
        return f"{data.draw(st.sampled_from(WORDS))} {data.draw(st.sampled_from(SIGNS))} {right}"

    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in ("a", "b"):
        hint = data.draw(st.one_of(st.none(), st.integers(1, 10**6)))
        env.unbacked(name, lo=1) if hint is None else env.symbol(name, lo=1, hint=hint)
    texts = []
    for _ in range(data.draw(st.integers(0, 3))):
        text = data.draw(st.one_of(st.sampled_from(["a % 4 == 0", "b % 3 == 1", "a >= b"]), st.just(proposition())))
        try:
            env.assume(text)
        except ShapeError:  # a contradiction, or against a hint
            continue
        texts.append(text)
    question = proposition()
    try:
        verdict = env.ask(question)
    except ShapeError:
        return
    if not isinstance(verdict, Depends):
        return
    assert verdict.check()
    for truth, shown in ((True, verdict.true_at), (False, verdict.false_at)):
        smallest = next(
            (
                max(point[name] for name in shown)
                for point in POINTS
                if all(value(text, point) for text in texts) and value(question, point) == truth
            ),
            None,
        )
        if smallest is not None and shown:
            assert max(shown.values()) <= max(4 * smallest, 16), (texts, question, shown, smallest)


SIGNS = ["==", "!=", "<", "<=", ">", ">="]
POINTS = sorted(
    [{"a": a, "b": b} for a in range(1, 25) for b in range(1, 25)], key=lambda p: (max(p.values()), sum(p.values()))
)


def test_a_question_that_still_stands_shows_what_newer_facts_allow() -> None:
    """Witnesses of a question that still stands satisfy newer facts."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("a b", hints=(100, 200))
    first = env.ask("a == b")
    assert isinstance(first, Depends) and first.false_at == {"a": 1, "b": 2}
    env.assume("b >= 50")
    second = env.ask("a == b")
    assert isinstance(second, Depends) and second.false_at["b"] >= 50 and second.check()


def test_the_simplest_sizes_with_one_of_the_question_moved() -> None:
    """A failure means that a witness about one size moves others, or that a power of two is shown for a limit."""
    terms = Interner()
    symbols = [terms.symbol(f"s{i}") for i in range(7)]
    known = Facts.empty(terms)
    for i, symbol in enumerate(symbols):
        known = known.declare_range(symbol, 2, None, hint=64 + i)
    for one, other in pairwise(symbols):
        known = known.learn_prop(terms.ge(one + other, 3))
    simplest = {f"s{i}": 2 for i in range(7)}
    for question, true, false in (
        (terms.ge(symbols[3], 4), {"s3": 4}, {}),
        (terms.lt(symbols[3], 4), {}, {"s3": 4}),
        (terms.ne(symbols[0], symbols[6]), {"s6": 3}, {}),
        (terms.eq(symbols[0] + symbols[1], 7), {"s0": 3, "s1": 4}, {}),
        (terms.gt(symbols[2], 128), {"s2": 129}, {}),
    ):
        verdict = decide(known, question)
        assert isinstance(verdict, Depends) and verdict.check()
        assert verdict.true_at == simplest | true, question
        assert verdict.false_at == simplest | false, question


def test_what_is_kept_for_one_question_is_right_for_the_next() -> None:
    """A failure means that choices which were kept under other facts, or a wrong base, make a witness that is none."""
    terms = Interner()
    a, b, c = (terms.symbol(name) for name in "abc")
    known = Facts.empty(terms)
    for symbol in (a, b, c):
        known = known.declare_range(symbol, 0, None)
    for fact in (terms.ge(a, b + 2), terms.eq(a % 4, 0), terms.ge(b * c, 5), terms.ge(c, 9)):
        known = known.learn_prop(fact)
        for question in (terms.eq(a, 12), terms.ge(b, 2), terms.ne(a, c), terms.le(a * b, 16), terms.eq(c % 3, 1)):
            for asked in (question, question.negation):
                verdict = decide(known, asked)
                assert isinstance(verdict, Depends) and verdict.check(), (fact, asked)
                assert max(*verdict.true_at.values(), *verdict.false_at.values()) <= 24


def test_a_symbol_that_is_not_declared_is_no_error() -> None:
    """A symbol that is not declared is no error."""
    terms = Interner()
    a, b = terms.symbol("a"), terms.symbol("b")
    known = Facts.empty(terms).declare_range(a, 3, None, hint=40)
    verdict = decide(known, terms.ge(a, b))
    assert isinstance(verdict, Depends) and verdict.true_at.keys() == {"a"}
    assert repr(verdict).startswith("Depends(true_at={'a': ")


def test_the_values_of_many_symbols_are_not_combined() -> None:
    """The values of many symbols are not combined: the witness of a chain of forty takes little memory."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    names = [f"s{i}" for i in range(40)]
    for name in names:
        env.unbacked(name, lo=None)
    for one, other in pairwise(names):
        env.assume(f"{one} <= {other}")
    verdict = env.ask("s39 >= s0 + 7")
    assert isinstance(verdict, Depends)
    with processor_seconds(100):
        assert set(verdict.true_at) == set(names) and verdict.check()
