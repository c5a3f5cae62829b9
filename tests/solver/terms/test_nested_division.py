"""Divisions of sums of many terms are as exact as others, and settled by the outermost quotient."""

from __future__ import annotations

import random

import pytest

from solver.decide.ladder import decide
from solver.decide.verdict import Always
from solver.knowledge.facts import Facts
from solver.terms.expr import Expr
from solver.terms.interner import Interner

WIDE = 24


def nested(size: Expr, divisor: Expr, levels: int) -> Expr:
    for _ in range(levels):
        size = (3 * size + 1) // 2 % divisor
    return size


@pytest.mark.parametrize("levels", [5, WIDE + 2, 3 * WIDE])
def test_a_deep_remainder_is_settled_by_its_outermost_quotient(levels: int) -> None:
    """A deep remainder is decided by its outermost quotient, without linear arithmetic at every level."""
    terms = Interner()
    x, n = terms.symbol("x"), terms.symbol("n")
    known = Facts.empty(terms).declare_range(x, 0, None).declare_range(n, 1, None)
    verdict = decide(known, terms.ge(nested(x, n, levels), 0))
    assert isinstance(verdict, Always) and verdict.check()
    assert verdict.rung == "remainder"


@pytest.mark.parametrize("levels", [1, WIDE // 2, 3 * WIDE])
def test_nested_remainders_are_those_of_python(levels: int) -> None:
    """Nested remainders are those of Python."""
    terms = Interner()
    x, n = terms.symbol("x"), terms.symbol("n")
    size = nested(x, n, levels)
    numbers = random.Random(levels)
    for _ in range(50):
        value, divisor = numbers.randint(-99, 99), numbers.choice([-7, -2, 1, 3, 10, 64])
        expected = value
        for _ in range(levels):
            expected = (3 * expected + 1) // 2 % divisor
        assert size.evaluate({x.atom: value, n.atom: divisor}) == expected


@pytest.mark.parametrize("by_symbol", [False, True])
@pytest.mark.parametrize("count", [WIDE - 1, WIDE, WIDE + 1, 2 * WIDE])
def test_quotients_of_wide_sums_are_those_of_python(count: int, by_symbol: bool) -> None:
    """Quotients of wide sums are those of Python."""
    numbers = random.Random(count)
    for _ in range(10):
        terms = Interner()
        symbols = [terms.symbol(f"s{i}") for i in range(count)]
        factor = terms.symbol("d") if by_symbol else terms.constant(numbers.choice([-6, -2, 3, 4]))
        whole = numbers.choice([True, False])
        parts = [
            symbol * numbers.randint(-9, 9) * (factor if whole or numbers.random() < 0.4 else 1) for symbol in symbols
        ]
        total = terms.sum([*parts, terms.constant(0 if whole else numbers.randint(-9, 9))])
        quotient = total // factor
        values = {atom: numbers.randint(-20, 20) or 5 for atom in (total + factor + quotient).symbols}
        assert quotient.evaluate(values) == total.evaluate(values) // factor.evaluate(values)
        if whole:
            assert not quotient.schedule  # it divides, however wide
