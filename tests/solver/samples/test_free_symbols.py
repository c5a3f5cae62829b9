"""Questions about symbols that no fact is about: open at once, with witnesses that are true."""

from __future__ import annotations

import pytest

from solver.decide.ladder import decide
from solver.decide.verdict import Depends
from solver.knowledge.facts import Facts
from solver.samples.witness_search import free_symbol
from solver.syntax.parser import parse
from solver.terms.interner import Interner

RANGES = {"a": (0, None), "b": (0, None), "c": (2, 9), "d": (None, None)}
CASES = [
    ((), "a == b"),
    ((), "a != b"),
    ((), "a >= 7"),
    ((), "a*b >= c"),
    ((), "c == 9"),
    ((), "3*a == b + 1"),
    ((), "a == b or a == 1 or b == 1"),
    ((), "a == b and c == d"),
    (("b == 5",), "a == b"),
    (("b == c + 1",), "a == b"),
    (("b == c or c == 4",), "a + d <= b"),
    (("b % 4 == 0",), "a == b"),
]


def knowing(facts: tuple[str, ...], question: str) -> tuple[Facts, Depends]:
    terms = Interner()
    names = {name: terms.symbol(name) for name in RANGES}
    known = Facts.empty(terms)
    for name, (lo, hi) in RANGES.items():
        known = known.declare_range(names[name], lo, hi)
    for fact in facts:
        known = known.learn_prop(parse(fact, names, terms).prop)
    verdict = decide(known, parse(question, names, terms).prop)
    assert isinstance(verdict, Depends)
    return known, verdict


@pytest.mark.parametrize(("facts", "question"), CASES)
def test_both_outcomes_are_shown(facts: tuple[str, ...], question: str) -> None:
    """An open question is shown by sizes of both outcomes."""
    known, verdict = knowing(facts, question)
    found = free_symbol(known, verdict.prop)
    assert found is not None
    for witness, truth in zip(found, (True, False), strict=True):
        values = witness.values(known)
        assert known.holds_at(values) and verdict.prop.evaluate(values) is truth
    assert verdict.check()


@pytest.mark.parametrize("question", ["c == 10", "b >= 5", "b == a // 2", "c >= 2"])
def test_what_it_cannot_show_is_left_to_the_others(question: str) -> None:
    """Symbols stay in their ranges, and those that facts are about are not moved."""
    terms = Interner()
    a, b, c = (terms.symbol(name) for name in "abc")
    known = Facts.empty(terms).declare_range(a, 0, None).declare_range(b, 0, None).declare_range(c, 2, 9)
    known = known.learn_prop(terms.le(b, 4))
    assert free_symbol(known, parse(question, {"a": a, "b": b, "c": c}, terms).prop) is None


def test_a_supposition_is_respected() -> None:
    """A question that a supposition decides is not called open."""
    terms = Interner()
    a, b = terms.symbol("a"), terms.symbol("b")
    known = Facts.empty(terms).declare_range(a, 0, None).declare_range(b, 0, None)
    assert free_symbol(known, terms.eq(a, b)) is not None
    supposed = known.suppose(terms.eq(a, b))
    assert isinstance(supposed, Facts)
    assert free_symbol(supposed, terms.eq(a, b)) is None
    further = supposed.learn_prop(terms.ge(a, 1))
    assert free_symbol(further, terms.eq(a, b)) is None
