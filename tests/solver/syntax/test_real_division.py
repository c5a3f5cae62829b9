"""Recorded sessions read quotients and roots exactly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from solver.errors import ParseError
from solver.syntax.parser import parse, parse_expr
from solver.terms.interner import Interner


def root_at_most(n: Fraction, bound: Fraction) -> bool:
    """`sqrt(n) <= bound`, without rounding."""
    return bound >= 0 and n <= bound * bound


EXPRESSIONS = [
    ("floor(sqrt(x))", lambda x, y: math.isqrt(x)),
    ("trunc(sqrt(float(x*y)))", lambda x, y: math.isqrt(x * y)),
    ("ceil(sqrt(x))", lambda x, y: math.isqrt(x - 1) + 1 if x else 0),
    ("floor(sqrt(x)/2)", lambda x, y: math.isqrt(x // 4)),
    ("floor(3*sqrt(x))", lambda x, y: math.isqrt(9 * x)),
    ("y + floor(sqrt(x)) - 1", lambda x, y: y + math.isqrt(x) - 1),
    ("floor(0.29*x)", lambda x, y: 29 * x // 100),
    ("round(x/2)", lambda x, y: round(Fraction(x, 2))),
    ("trunc(-x/3)", lambda x, y: -(x // 3)),
]
COMPARISONS = [
    ("sqrt(x) >= 3", lambda x, y: x >= 9),
    ("3 < sqrt(x)", lambda x, y: x > 9),
    ("sqrt(x*y) <= y", lambda x, y: root_at_most(Fraction(x * y), Fraction(y))),
    ("sqrt(x) == y", lambda x, y: y * y == x),
    ("sqrt(x) != sqrt(y)", lambda x, y: x != y),
    ("sqrt(x/(y + 1)) < 2.5", lambda x, y: Fraction(x, y + 1) < Fraction(25, 4)),
    ("1 <= sqrt(x) <= 7", lambda x, y: 1 <= x <= 49),
    ("0.3*x > y/2", lambda x, y: Fraction(3, 10) * x > Fraction(y, 2)),
    ("1/sqrt(x + 1) <= 0.5", lambda x, y: x + 1 >= 4),
    ("truediv(3.0, sqrt(float(x + 1))) >= 0.0", lambda x, y: True),
    ("sqrt(x)*sqrt(y) > 2", lambda x, y: x * y > 4),
    ("sqrt(x)/sqrt(y + 1) >= 1.5", lambda x, y: Fraction(x, y + 1) >= Fraction(9, 4)),
    ("max(x/(y + 1), y/(x + 1)) > 2", lambda x, y: max(Fraction(x, y + 1), Fraction(y, x + 1)) > 2),
    ("max(x/3, y/-2, 1.5) < 4", lambda x, y: max(Fraction(x, 3), Fraction(y, -2)) < 4),
    ("min(sqrt(x), sqrt(2*y)) >= 3", lambda x, y: min(x, 2 * y) >= 9),
    ("(x/3 if x > y else y/(x + 1)) == 2", lambda x, y: (Fraction(x, 3) if x > y else Fraction(y, x + 1)) == 2),
    ("max(x/(y + 1), 0.5) * 3 >= min(x/2, y)", lambda x, y: 3 * max(Fraction(x, y + 1), 0.5) >= min(Fraction(x, 2), y)),
]


@pytest.mark.parametrize(("text", "meant"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_rounded_values(text: str, meant: object) -> None:
    """A failure means that a recorded question about a rounded root or quotient is answered for another number."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in "xy"}
    e = parse_expr(text, names, terms, decimals="real").expr
    assert callable(meant)
    for x, y in itertools.product(range(30), range(12)):
        assert e.evaluate({names["x"].atom: x, names["y"].atom: y}) == meant(x, y), (x, y)


@pytest.mark.parametrize(("text", "meant"), COMPARISONS, ids=[text for text, _ in COMPARISONS])
def test_compared_values(text: str, meant: object) -> None:
    """A failure means that a recorded comparison of roots or quotients is answered for another one."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in "xy"}
    p = parse(text, names, terms, decimals="real").prop
    assert callable(meant)
    for x, y in itertools.product(range(60), range(12)):
        assert p.evaluate({names["x"].atom: x, names["y"].atom: y}) == meant(x, y), (x, y)


@pytest.mark.parametrize("text", ["sqrt(x) + 1 > y", "sqrt(x)*y > 1", "-sqrt(x) > 1", "max(sqrt(x), y) > 1"])
def test_sums_of_roots_are_refused(text: str) -> None:
    """A failure means that arithmetic on roots, which has no exact form here, is taken for something else."""
    terms = Interner()
    with pytest.raises(ParseError, match="square root"):
        parse(text, {name: terms.symbol(name) for name in "xy"}, terms, decimals="real")
