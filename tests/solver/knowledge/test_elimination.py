"""The range test and cases of maxima, against enumeration."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.decide.assume import assume
from solver.knowledge import elimination, maxima
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.checker import verify
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

SYMBOLS = 3
REACH = range(5)
COEFFICIENTS = st.lists(st.integers(-2, 2), min_size=SYMBOLS, max_size=SYMBOLS)
FACTS = st.lists(st.tuples(COEFFICIENTS, st.integers(-3, 3)), max_size=3)


def linear(symbols: list[Expr], coefficients: list[int], constant: int) -> Expr:
    return symbols[0].interner.sum([s * c for s, c in zip(symbols, coefficients)]) + constant


def known(interner: Interner, symbols: list[Expr], facts: list[tuple[list[int], int]]) -> Facts | None:
    """Sizes within reach that satisfy the facts; None if there are none."""
    found = Facts.empty(interner)
    for symbol in symbols:
        found = found.declare_range(symbol, 0, REACH[-1])
    for coefficients, constant in facts:
        larger = assume(found, found.next_fact(Prop.nonnegative(linear(symbols, coefficients, constant))))
        if isinstance(larger, Conflict):
            return None
        found = larger
    return found


def points(symbols: list[Expr], facts: list[tuple[list[int], int]]) -> list[dict[Expr, int]]:
    found = []
    for values in product(REACH, repeat=len(symbols)):
        if all(sum(c * v for c, v in zip(coefficients, values)) + constant >= 0 for coefficients, constant in facts):
            found.append(dict(zip(symbols, values)))
    return found


@given(FACTS, COEFFICIENTS, COEFFICIENTS, st.integers(-4, 8))
@settings(max_examples=150)
def test_what_is_eliminated_holds_everywhere(
    facts: list[tuple[list[int], int]], first: list[int], second: list[int], constant: int
) -> None:
    """If this fails, an inequality is proven that is false at some sizes, or its proof does not check."""
    interner = Interner()
    symbols = [interner.symbol(name) for name in "xyz"]
    facts_known = known(interner, symbols, facts)
    if facts_known is None:
        return
    e = (
        linear(symbols, first, constant)
        + interner.maximum(linear(symbols, second, 0), symbols[1] * 2)
        + symbols[0] * linear(symbols, second, 1)
        - interner.maximum(symbols[0], symbols[1]) * first[0]
        + linear(symbols, second, 1) // 3
    )
    for prove in (elimination.prove_nonnegative, maxima.prove_nonnegative):
        proof = prove(facts_known, e)
        if proof is None:
            continue
        assert proof.conclusion is Prop.nonnegative(e)
        assert verify(proof, proof.conclusion, interner.true)
        for point in points(symbols, facts):
            assert e.evaluate({symbol.atom: value for symbol, value in point.items()}) >= 0


@pytest.mark.parametrize("count", [5, 40, 120])
def test_any_number_of_terms_is_bounded(count: int) -> None:
    """If this fails, a sum of many sizes is not bounded by its longest any more."""
    interner = Interner()
    longest, total = interner.symbol("m"), interner.zero
    facts = Facts.empty(interner).declare_range(longest, 0, None)
    for i in range(count):
        symbol = interner.symbol(f"l{i}")
        facts = facts.declare_range(symbol, 0, None)
        larger = assume(facts, facts.next_fact(interner.le(symbol, longest)))
        assert isinstance(larger, Facts)
        facts = larger
        total = total + symbol
    proof = elimination.prove_nonnegative(facts, longest * count - total)
    assert proof is not None and verify(proof, proof.conclusion, interner.true)
    assert elimination.prove_nonnegative(facts, longest * (count - 1) - total) is None
