"""Laws of divisibility by matching: quotients by a common divisor, and sizes that share no factor."""

from __future__ import annotations

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes import ShapeEnv
from solver.decide.verdict import Always, Depends, GaveUp, Never
from tests.solver.asked import asked

LAWS = [
    "a 1.. b 1..; (a*b//gcd(a, b)) % a == 0",
    "a 1.. b 1..; (a*b//gcd(a, b)) % b == 0",
    "a 1.. b 1.. c 1..; (a*b*c//gcd(a, b)) % (a*c) == 0",
    "a 1.. b 1..; gcd(a, b)*(a*b//gcd(a, b)) == a*b",
    "a 1..; gcd(a, 32) == 1; a % 2 == 1",
    "a 1..; gcd(a, 6) == 1; a % 4 != 2",
    "a 1.. b 1..; gcd(a, 32) == 1; gcd(b, 8) == 1; a*b % 2 == 1",
    "a 1..; gcd(a, 15) == 5; a % 3 != 0",
    "a 1..; gcd(a, 32) == 1; gcd(a, 2) == 1",
    "a 1..; gcd(a, 2) != 1; a % 2 == 0",
]


@pytest.mark.parametrize("line", LAWS)
def test_a_law_is_found(line: str) -> None:
    """If this fails, a law of divisibility is not used where a question needs it, or its proof does not check."""
    verdict = asked(line).verdict()
    assert isinstance(verdict, Always), f"{line}: {verdict!r}"
    assert verdict.check()


@given(st.integers(2, 40), st.integers(1, 12), st.integers(2, 9), st.integers(0, 8))
def test_what_follows_from_a_common_divisor_is_true(number: int, divisor: int, modulus: int, rest: int) -> None:
    """If this fails, a greatest common divisor tells something about remainders that is false."""
    values = [a for a in range(1, 400) if gcd(a, number) == divisor]
    if not values:
        return
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.symbol("a", lo=1)
    env.assume(f"gcd(a, {number}) == {divisor}")
    truths = {a % modulus == rest for a in values}
    match env.ask(f"a % {modulus} == {rest}"):
        case Always() as verdict:
            assert truths == {True} and verdict.check()
        case Never() as verdict:
            assert truths == {False} and verdict.check()
        case Depends() | GaveUp():
            pass


def test_an_operation_that_equals_a_number_is_looked_at_again() -> None:
    """If this fails, `gcd(a, 32) == 1` is forgotten once `a` is known to be even."""
    verdict = asked("a 1.. b 1..; gcd(a, 9) == 1; a == 3*b + 1; a % 3 == 1").verdict()
    assert isinstance(verdict, Always)
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.symbol("a", lo=1)
    env.symbol("b", lo=1)
    env.assume("gcd(a, 33) == 1")
    with pytest.raises(Exception, match="contradicts"):
        env.assume("a == 11*b")
