"""Equalities of products and quotients of products: what is cancelled, and what is learned again when more is known."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.decide.verdict import Always
from solver.errors import Contradictory, Undefined
from solver.terms.interner import Interner
from tests.solver.asked import Asked, asked
from tests.solver.rungs.test_against_enumeration import judge

FOLLOWS = [
    "a 1.. b 1.. c 1.. d 1.. e 1..; a*b*c == c*d*e; a*b == d*e",
    "a 1.. b 1.. c .. d .. e 1.. f 1..; a*b*c == e*f*d; a == e; b == f; c == d",
    "a .. b 2.. c 1.. d 1.. e .. f ..; c*d*a*b == e*f*c*d; b == e; a == f",
    "p 2.. s 1.. t .. x ..; s*s*p*p == t*x*p; s*s == t; p == x",
    "a 2.. b 2.. c 2.. d 2..; a*b == c*d; a*b % c == 0",
    "a 2.. b 2.. c 2.. d 2..; a*b == c*d; a*b // d == c",
    "a 2.. b 2.. c 2.. q 0..; a*b*(q + 1) % (c*(q + 1)) == 0; max(a*b // c, 1) == a*b // c",
]


@pytest.mark.parametrize("line", FOLLOWS)
def test_what_follows_is_seen_cheaply(line: str) -> None:
    """If this fails, an equality of products is of no use once its atoms are solved for."""
    assert isinstance(asked(line).verdict("bounds", "shift"), Always)


NAMES = "abcd"
SIDE = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("*".join)
EQUAL = st.tuples(SIDE, SIDE).map(" == ".join)
FACTS = st.lists(EQUAL | st.tuples(SIDE, st.sampled_from(NAMES)).map(lambda part: f"{part[0]} % {part[1]} == 0"))
QUESTIONS = st.one_of(
    EQUAL,
    st.tuples(SIDE, SIDE).map(" >= ".join),
    st.tuples(SIDE, SIDE).map(lambda part: f"{part[0]} % ({part[1]}) == 0"),
    st.tuples(SIDE, SIDE, SIDE).map(lambda part: f"{part[0]} // ({part[1]}) == {part[2]}"),
)


@given(lows=st.tuples(*[st.sampled_from([-2, 0, 1, 2])] * 4), facts=FACTS, question=QUESTIONS)
def test_equal_products(lows: tuple[int, int, int, int], facts: list[str], question: str) -> None:
    """If this fails, a rewriting of products says what its equality does not."""
    bounds = tuple([(name, low, low + 3) for name, low in zip(NAMES, lows, strict=True)])
    with suppress(Undefined, Contradictory):  # the facts leave no sizes, or none at which the question makes sense
        judge(Asked(bounds, tuple(facts[:3]), question), ("bounds", "shift"))


COEFFICIENTS = st.tuples(*[st.integers(-2, 2)] * 3)


@given(factor=COEFFICIENTS, above=COEFFICIENTS, below=COEFFICIENTS, more=st.integers(-2, 2))
def test_quotients_cancel_sums(
    factor: tuple[int, int, int], above: tuple[int, int, int], below: tuple[int, int, int], more: int
) -> None:
    """If this fails, a factor that is cancelled is none, or its sign is lost."""
    terms = Interner()
    x, y = terms.symbol("x"), terms.symbol("y")
    f, n, d = [a * x + b * y + c for a, b, c in (factor, above, below)]
    quotient = terms.floordiv(f * f * n + more * f, f * d * y)
    for i, j in product(range(-4, 5), repeat=2):
        point = {x.atom: i, y.atom: j}
        common, divisor = f.evaluate(point), d.evaluate(point) * j
        if common * divisor:
            assert quotient.evaluate(point) == (common * n.evaluate(point) + more) * common // (common * divisor)


def test_quotients_of_the_same_sum_are_one() -> None:
    """If this fails, two spellings of a quotient are two atoms again."""
    terms = Interner()
    a, b, q = (terms.symbol(name) for name in "abq")
    assert (3 * a * (q + 1)) // (3 * b * (q + 1)) is a // b
    assert (a * (q + 1) * (q + 2)) // (b * (2 * q + 2)) is (a * (q + 2)) // (2 * b)
