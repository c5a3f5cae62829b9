"""Questions about products that equalities rewrite, against enumeration and in every order of the facts."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Never
from solver.knowledge.facts import Conflict, Facts
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.solver.asked import asked

NAMES = "abcd"
REACH = range(1, 6)
POINT = st.tuples(*[st.integers(1, 5)] * 4)
PAIR = st.tuples(st.integers(0, 3), st.integers(0, 3))
EQUALITY = st.tuples(PAIR, st.integers(0, 3), st.integers(-4, 4))
"""A product of two symbols, and a multiple of a symbol that it equals up to a constant."""
Equality = tuple[tuple[int, int], int, int]


def equality(symbols: list[Expr], point: tuple[int, ...], parts: Equality) -> Prop:
    """An equality between a product and a line that the point satisfies."""
    (i, j), k, slope = parts
    constant = point[i] * point[j] - slope * point[k]
    return symbols[0].interner.eq(symbols[i] * symbols[j], symbols[k] * slope + constant)


@given(POINT, st.lists(EQUALITY, min_size=2, max_size=3), st.lists(PAIR, min_size=1, max_size=3), st.integers(-2, 2))
@example((2, 3, 4, 2), [((0, 3), 1, 0), ((0, 1), 1, -4)], [(1, 3), (0, 2)], 0)
@settings(max_examples=100)
def test_no_answer_contradicts_an_assignment(
    point: tuple[int, ...], equalities: list[Equality], pairs: list[tuple[int, int]], constant: int
) -> None:
    """If this fails, rewriting by some rule changes what a question about products means."""
    interner = Interner()
    symbols = [interner.symbol(name) for name in NAMES]
    known = Facts.empty(interner)
    for symbol in symbols:
        known = known.declare_range(symbol, REACH[0], REACH[-1])
    facts = [equality(symbols, point, parts) for parts in equalities]
    for fact in facts:
        learned = assume(known, known.next_fact(fact))
        assert not isinstance(learned, Conflict)
        known = learned
    a, b, c, d = symbols
    e = a * b * d - interner.sum([symbols[i] * symbols[j] * c for i, j in pairs]) + constant
    truths = set()
    for values in product(REACH, repeat=4):
        assignment = {symbol.atom: value for symbol, value in zip(symbols, values)}
        if all(fact.evaluate(assignment) for fact in facts):
            truths.add(e.evaluate(assignment) == 0)
    verdict = decide(known, Prop.zero(e), solvers=False)
    assert verdict.check()
    assert not isinstance(verdict, Always) or truths == {True}
    assert not isinstance(verdict, Never) or truths == {False}


@pytest.mark.parametrize(
    "line",
    [
        "g 1..8 d 2.. n 0..; 8 % g == 0; d*(g + 4) == 24; d*n*(8 % g) == 0",
        "g 1.. t 1.. d 2.. c 1..; g*t == 8; g*d == 24 - 4*d; g*d*t*c == 8*d*c",
        "g 1.. t 1.. d 2.. c 1..; g*t == 8; g*d == 24 - 4*d; g*d*t*c <= 8*d*c",
    ],
)
def test_the_order_of_the_facts_does_not_matter(line: str) -> None:
    """If this fails, heads that divide into groups are known to only if the division was asserted first."""
    symbols, *facts, question = line.split("; ")
    for order in permutations(facts):
        assert isinstance(asked("; ".join([symbols, *order, question])).verdict(), Always)


def test_a_product_with_a_value_is_that_value_in_any_product() -> None:
    """If this fails, `a*b == 18` does not decide `a*b*c == 18*c`, or its proof does not check."""
    assert isinstance(asked("a 2.. b 2.. c 1..; a*b == 18; a*b*c == 18*c").verdict(), Always)
    assert isinstance(asked("a 2.. b 2..; a*b == 18; b != 2; b % 2 == 0; b//2 == 3").verdict(), Always)
