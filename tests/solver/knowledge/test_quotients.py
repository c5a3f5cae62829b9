"""Quotients whose dividend and divisor are compared, against enumeration."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.decide.verdict import Always, Never
from solver.knowledge.explain import prove_bound
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.quotients import orders
from solver.proofs.checker import verify
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.solver.asked import asked

REACH = range(-3, 10)
DIVISORS = range(1, 6)
LINE = st.tuples(*[st.integers(-2, 3)] * 3, st.integers(-4, 4))
Line = tuple[int, int, int, int]


def line(symbols: list[Expr], coefficients: Line) -> Expr:
    x, y, d = symbols
    a, b, c, k = coefficients
    return x * a + y * b + d * c + k


def points(symbols: list[Expr], facts: list[Line]) -> list[dict[Atom, int]]:
    found: list[dict[Atom, int]] = []
    for x, y, d in product(REACH, REACH, DIVISORS):
        if all(a * x + b * y + c * d + k >= 0 for a, b, c, k in facts):
            found.append({symbol.atom: value for symbol, value in zip(symbols, (x, y, d))})
    return found


def known(interner: Interner, symbols: list[Expr], facts: list[Line]) -> Facts | None:
    found = Facts.empty(interner)
    for symbol, reach in zip(symbols, (REACH, REACH, DIVISORS)):
        found = found.declare_range(symbol, reach[0], reach[-1])
    for coefficients in facts:
        learned = found.learn(found.next_fact(Prop.nonnegative(line(symbols, coefficients))))
        if isinstance(learned, Conflict):
            return None
        found = learned
    return found


@given(st.lists(LINE, min_size=1, max_size=3), LINE, LINE)
@example([(1, 0, -2, 0)], (1, 0, 0, 0), (0, 0, 1, 0))
@example([(-1, 0, 1, -1), (1, 0, 0, 0)], (1, 0, 0, 0), (0, 0, 1, 0))
@settings(max_examples=200)
def test_bounds_of_quotients_hold_everywhere(facts: list[Line], dividend: Line, divisor: Line) -> None:
    """If this fails, a bound of a quotient is false at some sizes, or its proof does not check."""
    interner = Interner()
    symbols = [interner.symbol(name) for name in "xyd"]
    facts_known = known(interner, symbols, facts)
    if facts_known is None:
        assert not points(symbols, facts)
        return
    n, d = line(symbols, dividend), line(symbols, divisor)
    if d.is_constant and not d.constant:
        return
    whole = interner.floordiv(n, d)
    for atom in whole.atoms:
        if atom.kind != "floordiv":
            continue
        r = facts_known.range_of(atom.monomial)
        for bound, lower in ((r.lo, True), (r.hi, False)):
            if bound is not None:
                proof = prove_bound(facts_known, atom.monomial, lower, bound)
                assert verify(proof, proof.conclusion, interner.true)
    low, high = facts_known.low(whole), facts_known.high(whole)
    image = facts_known.canonical(whole)[0]
    comparable = image.atoms <= {*whole.atoms, *[symbol.atom for symbol in symbols]}
    for point in points(symbols, facts):
        if d.evaluate(point):
            value = whole.evaluate(point)
            assert (low is None or low <= value) and (high is None or value <= high)
            assert not comparable or image.evaluate(point) == value


@given(st.lists(LINE, max_size=2), LINE, LINE, st.integers(1, 4), LINE)
@example([], (1, 0, 0, 0), (0, 0, 1, 0), 2, (0, 0, 0, 0))
@example([], (1, 0, 0, 3), (0, 0, 1, 0), 1, (0, 0, 0, 2))
@settings(max_examples=200)
def test_orders_of_quotients_hold_everywhere(
    facts: list[Line], dividend: Line, divisor: Line, ratio: int, excess: Line
) -> None:
    """If this fails, two quotients of one dividend are in an order that they do not have."""
    interner = Interner()
    symbols = [interner.symbol(name) for name in "xyd"]
    facts_known = known(interner, symbols, facts)
    if facts_known is None:
        return
    n, d = line(symbols, dividend), line(symbols, divisor)
    larger = d * ratio + line(symbols, excess)
    pair = [atom for e in (d, larger) if e.terms for atom in interner.floordiv(n, e).atoms if atom.kind == "floordiv"]
    for order in [
        order for one in pair for other in pair if one is not other for order in orders(facts_known, one, other)
    ]:
        assert verify(order, order.conclusion, interner.true)
        for point in points(symbols, facts):
            if d.evaluate(point) and larger.evaluate(point):
                assert order.conclusion.expr.evaluate(point) >= 0


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("p 2..16 h .. w ..; p <= h; p <= w; h <= 24; (h//p)*(w//p) >= 1", Always),
        ("p 2..16 h .. w ..; p <= h; p <= w; (9 if min(p*(w//p), 30) >= 2 else 5) != 9", Never),
        ("p 2.. a .. b ..; p <= a; 3*p <= b; a//p + b//p >= 4", Always),
        ("a 1.. b 1.. c 1.. k 2..; k*a % (k*(a*b + c)) == 0", Never),
        ("t .. w 1..; t >= w; t - t//w*w < t", Always),
        ("n .. s 2..; n > s; (n - 1)//(2*s) >= (n - 1)//s", Never),
        ("n .. s 1.. t 1..; n >= 0; n//(s + t) > n//s", Never),
        ("n .. s 1..; n//(6*s)*6 + 6 > n//s", Always),
    ],
)
def test_quotients_of_sizes_in_an_order(question: str, answer: type) -> None:
    """If this fails, a grid of patches in an image that is at least one patch large may be empty again."""
    assert isinstance(asked(question).verdict(), answer)
