"""Families of questions with a parameter N: what is decided with some parts is decided with fewer, and with more.

Fails if a family is given up or answered wrongly; every proof is checked.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from shapes import Always, ShapeEnv
from solver.terms.factors import split
from solver.terms.interner import Interner

Family = tuple[str, list[str], str]
"""The least value of all symbols by name, the facts, and a question that follows."""


def broadcast(n: int) -> Family:
    axes = [f"a{i}" for i in range(n)]
    facts = [f"{axis} == b or {axis} == 1" for axis in axes]
    return f"b {' '.join(axes)}", facts, f"max({', '.join(axes)}) == b or max({', '.join(axes)}) == 1"


def broadcast_bounded(n: int) -> Family:
    symbols, facts, _ = broadcast(n)
    return symbols, facts, f"max({', '.join(symbols.split()[1:])}) <= b"


def attained(n: int) -> Family:
    lengths = [f"l{i}" for i in range(n)]
    return " ".join(lengths), [], " or ".join([f"max({', '.join(lengths)}) == {each}" for each in lengths])


def divisors(n: int) -> Family:
    sizes = [f"s{i}" for i in range(n + 1)]
    return " ".join(sizes), [f"s{i + 1} % s{i} == 0" for i in range(n)], f"s{n} % s0 == 0 and s0 <= s{n}"


def clamps(n: int) -> Family:
    position = "p"
    for i in range(n):
        position = f"min(max(s{i} - 7 + {position}, 0), n)"
    return " ".join(["n p", *[f"s{i}" for i in range(n)]]), [], f"({position}) * (n - ({position})) >= 0"


@pytest.mark.parametrize("n", (2, 4, 8, 16))
@pytest.mark.parametrize("family", (broadcast, broadcast_bounded, attained, divisors, clamps))
def test_decided_for_every_number_of_parts(family: Callable[[int], Family], n: int) -> None:
    symbols, facts, question = family(n)
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in symbols.split():
        env.symbol(name, lo=1)
    for fact in facts:
        env.assume(fact)
    verdict = env.ask(question)
    assert isinstance(verdict, Always)
    assert verdict.check()


def test_a_maximum_of_other_axes_is_no_broadcast() -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("a b c")
    env.assume("a == b or a == 1")
    assert not isinstance(env.ask("max(a, c) == b or max(a, c) == 1"), Always)


def test_an_excluded_value_leaves_the_rest_of_a_disjunction() -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("a b")
    env.assume("a == b or a == 1")
    env.assume("a != b")
    assert env.bounds("a") == (1, 1)


def test_a_bounded_product_inside_a_factor_of_another() -> None:
    """Each is bounded by the other, which must not recur."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    a, b, c = env.sizes("a b c")
    env.assume(a * b * c >= 5)
    env.assume((a * b * c // 7) * a * b >= 3)
    assert isinstance(env.ask((a * b * c // 7) * a * b * c >= 3), Always)


def test_a_clipped_slice_with_a_step() -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.symbol("n", lo=0)
    env.symbol("step", lo=1)
    env.symbol("start")
    env.symbol("stop")
    length = "max(min(max(stop, 0), n) - min(max(start, 0), n), 0)"
    verdict = env.ask(f"({length} + step - 1) // step <= n")
    assert isinstance(verdict, Always)
    assert verdict.check()


def test_primes_that_never_divide_leave_a_gcd() -> None:
    """A number beside `2*a + 1` is odd: every normal form is compared with `math.gcd`."""
    terms = Interner()
    a, b = terms.symbol("a"), terms.symbol("b")
    assert terms.gcd(2 * a + 1, 16) is terms.gcd(6 * a + 3, 32) is terms.one
    assert terms.gcd(2 * a + 1, 12) is terms.gcd(2 * a + 1, 3)
    rng = random.Random(5)
    for _ in range(300):
        number, k = rng.choice([12, 16, 30, 36, 48, 210, -24]), rng.randrange(-9, 9)
        e = rng.randrange(-12, 13) * a + rng.randrange(-12, 13) * b + k
        x, y = rng.randrange(-99, 99), rng.randrange(-99, 99)
        at = {a.atom: x, b.atom: y}
        assert terms.gcd(e, number).evaluate(at) == math.gcd(e.evaluate(at), number)


def test_an_odd_size_is_coprime_to_powers_of_two() -> None:
    """A failure means that what a gcd says of a size is not used for the gcd with another number."""
    for fact in ("gcd(a, 32) == 1", "a % 2 == 1", "a % 2 != 0"):
        env = ShapeEnv(origin=lambda: None)
        env.symbol("a", 0)
        env.assume(fact)
        assert isinstance(env.ask("gcd(a, 16) == 1"), Always)


def test_multiples_in_a_gcd_and_of_a_gcd() -> None:
    """Euclid's steps keep the value: every normal form is compared with `math.gcd`."""
    terms = Interner()
    a, b, c = (terms.symbol(name) for name in "abc")
    assert terms.gcd(terms.gcd(a, b), c) is terms.gcd(a, terms.gcd(c, b))
    assert terms.gcd(a + b, b) is terms.gcd(a, b) is terms.gcd(a % b, b)
    assert (2 * a + 3 * b) % terms.gcd(a, b) is terms.zero is terms.gcd(a, b) % terms.gcd(a, terms.gcd(b, c))
    rng = random.Random(5)

    def some() -> int:
        return rng.choice((0, 0, 1, -1, 2, -3, 4, 6))

    for _ in range(300):
        p, q, r, n = (some() * a + some() * b + some() * c + some() * a * b + some() for _ in range(4))
        made = terms.gcd(terms.gcd(p, q), r)
        left = (n * p + q - r) % terms.gcd(p, q)
        for _ in range(6):
            at = {symbol.atom: rng.randrange(-6, 7) for symbol in (a, b, c)}
            x, y, z = (e.evaluate(at) for e in (p, q, r))
            assert made.evaluate(at) == math.gcd(x, y, z)
            inner = math.gcd(x, y)
            whole = n.evaluate(at) * x + y - z
            assert left.evaluate(at) == (whole % inner if inner else whole)


def test_long_quadratic_polynomials_are_split() -> None:
    left = {(i,): i % 5 - 2 or 1 for i in range(9)}
    right = {(i,): 3 - i % 4 or 2 for i in range(9)} | {(): 7}
    product: dict[tuple[int, ...], int] = {}
    for p, c in left.items():
        for q, d in right.items():
            key = tuple(sorted(p + q))
            product[key] = product.get(key, 0) + c * d
    product = {key: c for key, c in product.items() if c}
    assert len(product) > 30
    found = split(product)
    assert found is not None
    assert {frozenset(factor.items()) for factor in found[:2]} <= {
        frozenset({key: sign * c for key, c in factor.items()}.items()) for factor in (left, right) for sign in (1, -1)
    }
    assert split({**product, (0, 0): product.get((0, 0), 0) + 1}) is None
