"""The consequences of facts about min and max, and about products of sums, for their operands."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes import ShapeEnv
from shapes.errors import Contradiction
from solver.decide.ladder import decide
from solver.decide.slicing import ATTEMPTS, RESAMPLED, slice_of
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.knowledge.facts import Conflict, Facts
from solver.terms.interner import Interner


def environment(lows: dict[str, int | None], facts: list[str]) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name, low in lows.items():
        env.symbol(name, low)
    for fact in facts:
        env.assume(fact)
    return env


SIZES: dict[str, int | None] = {"a": 0, "b": 0, "c": 0, "k": 0}
ANY: dict[str, int | None] = dict.fromkeys(("a", "b", "c", "k"))


@pytest.mark.parametrize(
    ("lows", "facts", "follows"),
    [
        (SIZES, ["min(a, b, c) != 0"], ["a >= 1", "b >= 1", "c >= 1", "min(a, c) >= 1", "a*b*c != 0"]),
        (SIZES, ["min(a, b, c)**2*(k + 2) != 0"], ["a >= 1", "c >= 1", "min(a, b, c)**2*(k + 2) >= 2"]),
        (SIZES, ["min(a, b)**2 >= 1"], ["a >= 1", "b >= 1", "max(1, min(a, b))*k == min(a, b)*k"]),
        (SIZES, ["max(a, b, c) <= k"], ["a <= k", "b <= k", "c <= k"]),
        (ANY, ["min(a, b, c) >= k"], ["a >= k", "b >= k", "c >= k"]),
        (ANY, ["max(a, b) < min(c, k)"], ["a < c", "a < k", "b < c", "b < k"]),
        (ANY, ["min(a, b) != 3", "a >= 3", "b >= 3"], ["a >= 4", "b >= 4"]),
        (ANY, ["(a - b)*(c + k) <= -3"], ["a != b", "c + k != 0"]),
        (ANY, ["(a - b)**2*(a + c) != 0"], ["a != b", "a + c != 0"]),
    ],
)
def test_what_follows_is_decided_by_the_cheap_rungs(
    lows: dict[str, int | None], facts: list[str], follows: list[str]
) -> None:
    """Arguments of a clamp are decided by the cheap procedures, with certificates that check."""
    env = environment(lows, facts)
    for question in follows:
        verdict = env.ask(question, effort="fast")
        assert isinstance(verdict, Always), question
        assert verdict.check()


def test_the_order_of_facts_does_not_matter() -> None:
    """The order of facts does not matter: of a minimum that is not zero, and of the signs of its arguments."""
    env = environment(ANY, ["min(a, b) != 0", "a >= 0", "b >= 0"])
    for question in ("a >= 1", "b >= 1", "a*b >= 1"):
        verdict = env.ask(question)
        assert isinstance(verdict, Always) and verdict.check()


def test_against_all_small_sizes() -> None:
    """The consequences of a clamp, or of a product, hold at all small sizes."""
    numbers = random.Random(11)
    decided = 0
    for _ in range(120):
        first, second, third = numbers.sample("abc", 3)
        clamp = numbers.choice(
            [
                f"min({first}, {second})",
                f"max({first}, {second})",
                f"min({first}, max({second}, {third}))",
                f"max({first}, {second} - {third}, 1)",
                f"min({first}, {second}, {third})",
            ]
        )
        other = numbers.choice(["", f"*({first} - {third})", f"*min({second}, {third})", f" + max({third}, {second})"])
        facts = [f"{clamp}{other} {numbers.choice(['>=', '<=', '!=', '=='])} {numbers.randint(-1, 3)}"]
        facts += [f"{numbers.choice('abc')} {numbers.choice(['!=', '<='])} {numbers.randint(0, 4)}"]
        lows = {name: numbers.choice([-2, 0, 0, 1]) for name in "abc"}
        env = ShapeEnv(origin=lambda: None, solvers=False)
        for name, low in lows.items():
            env.symbol(name, low, low + 5)
        points = [dict(zip("abc", values)) for values in product(*[range(low, low + 6) for low in lows.values()])]
        expected = [point for point in points if all(eval(fact, {"min": min, "max": max}, point) for fact in facts)]
        try:
            for fact in facts:
                env.assume(fact)
        except Contradiction:
            assert not expected
            continue
        for name in lows:
            low, high = env.bounds(name)
            assert low is None or all(point[name] >= low for point in expected)
            assert high is None or all(point[name] <= high for point in expected)
            verdict = env.ask(f"{name} >= 1")
            decided += isinstance(verdict, (Always, Never))
            assert not isinstance(verdict, Always) or all(point[name] >= 1 for point in expected)
            assert not isinstance(verdict, Never) or all(point[name] < 1 for point in expected)
    assert decided > 100


def test_a_question_that_is_given_up_has_a_price() -> None:
    """A question that is given up has its work counted, and slices are not asked again."""
    env = environment({"a": 2, "b": 2, "n": 1, "m": 1}, ["n % a == 0", "m % b == 0", "n*m == n//a*a*m", "m//b != m"])
    for question in ("n//a*a == 2**63 - 1 - m//b*b*a", "n**3*a - m**3*b == 2**63 - 1", "a*n*b == 3*(a*n//3)*b"):
        verdict = env.ask(question, effort="default")
        assert not isinstance(verdict, GaveUp) or 100_000 <= verdict.work <= 800_000


def test_other_samples_of_a_slice_satisfy_its_facts() -> None:
    """Samples of a slice satisfy its facts, and its cost does not depend on earlier questions."""
    env = environment(
        {"a": 2, "b": 2, "n": 1, "m": None}, ["n % a == 0", "min(n, m) >= 3", "a*b <= 40", "n != m", "m == n + 2*b"]
    )
    prop, domain = env.parse("a + b >= n")
    costs: list[int] = []
    resampled = 0
    for _ in range(2):
        for attempt in range(ATTEMPTS + RESAMPLED):
            found = slice_of(env.known, prop, domain, attempt)
            assert found is not None and not isinstance(found.known, Conflict)
            costs.append(found.cost)
            if found.known is not None:
                resampled += attempt >= ATTEMPTS
                assert found.known.samples.alive
                for row in found.known.samples.alive:
                    assert found.known.holds_at(found.known.samples.row_values(found.known.all_symbols(), row))
    assert costs[: len(costs) // 2] == costs[len(costs) // 2 :]
    assert min(costs) > 0 and resampled


@pytest.mark.parametrize("size", [1, 4, 10, 12, 28, 64, 100])
def test_chains_of_clamps_are_decided_at_any_length(size: int) -> None:
    """If this fails, where a slice begins is not seen to lie between 0 and the length, for chains of some length."""
    interner = Interner()
    n = interner.symbol("n")
    known = Facts.empty(interner).declare_range(n, 0, None)
    position = interner.zero
    for i in range(size):
        step = interner.symbol(f"s{i}")
        known = known.declare_range(step, None, None)
        position = interner.minimum(interner.maximum(step + position, interner.zero), n)
    for goal in (interner.le(position, n), interner.ge(position, 0)):
        verdict = decide(known, goal, effort="default")
        assert isinstance(verdict, Always) and verdict.rung == "extremes"
        assert size > 28 or verdict.check()
    assert isinstance(decide(known, interner.lt(position, n), effort="default"), Depends)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-9, 9)), min_size=1, max_size=12), st.integers(-9, 9))
def test_long_sums_have_the_values_of_their_terms(changes: list[tuple[int, int]], constant: int) -> None:
    """If this fails, a long sum that differs little from another one has wrong values in the samples."""
    interner = Interner()
    known = Facts.empty(interner)
    symbols = [interner.symbol(f"s{i}") for i in range(40)]
    for symbol in symbols:
        known = known.declare_range(symbol, None, None)
    e = interner.sum(symbols)
    for position, coefficient in changes:
        e = e + symbols[position] * coefficient + constant
        for each in (e, -e):
            rows = [known.samples.row_values(known.all_symbols(), row) for row in known.samples.alive]
            values = known.samples.values(each)
            assert [values[row] for row in known.samples.alive] == [each.evaluate(row) for row in rows]
