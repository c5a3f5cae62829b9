"""Quotients by differences, and of clamps, against enumeration."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.decide.prover import LadderProver
from solver.decide.quotient_lemmas import quotient_lemmas
from solver.decide.verdict import Always, Never
from solver.knowledge.facts import Facts
from solver.proofs.checker import verify
from solver.syntax.parser import parse
from solver.terms.interner import Interner
from tests.solver.asked import asked

REACH = range(7)
COEFFICIENTS = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3))


@given(st.lists(COEFFICIENTS, min_size=1, max_size=2), COEFFICIENTS, COEFFICIENTS, st.integers(-3, 3))
@example([(1, -2, -1)], (1, -1, 0), (1, 1, 0), 1)
@settings(max_examples=100)
def test_lemmas_and_answers_hold_everywhere(
    facts: list[tuple[int, int, int]], divisor: tuple[int, int, int], dividend: tuple[int, int, int], value: int
) -> None:
    """If this fails, a divisor gets a sign that it does not have, or a question is answered by one."""

    def text(line: tuple[int, int, int]) -> str:
        return "{}*x + {}*y + {}".format(*line)

    def at(line: tuple[int, int, int], x: int, y: int) -> int:
        return line[0] * x + line[1] * y + line[2]

    points = [(x, y) for x, y in product(REACH, REACH) if all(at(fact, x, y) >= 0 for fact in facts)]
    points = [(x, y) for x, y in points if at(divisor, x, y)]
    if not points:
        return
    quotient = f"({text(dividend)})//({text(divisor)})*({text(divisor)})"
    bounds = [f"{text(fact)} >= 0" for fact in facts] + [f"{text(divisor)} != 0"]
    question = asked("; ".join(["x 0..6 y 0..6", *bounds, f"{quotient} >= {value}"]))
    known = question.known()[0]
    assert isinstance(known, Facts) and isinstance(known.interner, Interner)
    names = {name: known.interner.symbol(name) for name in "xy"}
    goal = known.canonical_prop(parse(question.question, names, known.interner).prop)[0]
    for lemma in quotient_lemmas(LadderProver(known), known, goal):
        assert verify(lemma, lemma.conclusion, known.interner.true)
        values = [{names["x"].atom: x, names["y"].atom: y} for x, y in points]
        if lemma.conclusion.symbols <= {names["x"].atom, names["y"].atom}:
            assert all(lemma.conclusion.evaluate(each) for each in values)
    verdict = question.verdict()
    truths = {at(dividend, x, y) // at(divisor, x, y) * at(divisor, x, y) >= value for x, y in points}
    assert not isinstance(verdict, Always) or truths == {True}
    assert not isinstance(verdict, Never) or truths == {False}


@pytest.mark.parametrize(
    "line",
    [
        "t 4..64 o 0.. h ..; 2*o < t; h >= t; (h + t - 1 - 2*o)//(t - o)*(t - o) + o >= h",
        "t 4..64 o 0.. h ..; 2*o < t; h >= t; (h + t - 1 - 2*o)//(t - o)*(t - o) + o != 0",
        "t 4..64 o 0.. h ..; 2*o < t; h >= t; (h - o - t)//(o - t)*(o - t) + t + o <= h + 2*t",
    ],
)
def test_tiles_that_overlap_cover_an_image(line: str) -> None:
    """If this fails, the laws of a quotient are not used where the sign of its divisor, a difference, takes a proof."""
    assert isinstance(asked(line).verdict(), Always)
