"""Products of clamps, decided by what each clamp is at least."""

from __future__ import annotations

import random
from itertools import product

import pytest

from shapes import ShapeEnv
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.knowledge import shift
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep
from solver.terms.interner import Interner


def environment(lows: dict[str, int], highs: dict[str, int] | None = None) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name, low in lows.items():
        env.symbol(name, low, (highs or {}).get(name))
    return env


@pytest.mark.parametrize(
    ("clamps", "least"),
    [
        ("min(a, b)*min(b, c)", 4),
        ("min(a, b)*min(b, c)*c", 8),
        ("min(a, b)*min(c, d)*a", 8),
        ("min(a, b)*min(b, c)*min(c, a)", 8),
        ("min(a, 7)*min(b + 1, c)*2", 8),
        ("min(a, b, c)*min(b, d)", 4),
        ("max(a, b)*min(b, c)*min(a, d)", 8),
        ("min(a, b)*min(c, d)*2 - min(a, b) - min(c, d)", 4),
        ("min(max(a, b), c)*min(a, d)", 4),
    ],
)
def test_the_least_of_a_product_of_clamps(clamps: str, least: int) -> None:
    """The least value of a product of clamps is known."""
    env = environment(dict.fromkeys("abcd", 2))
    for question in (f"{clamps} >= {least}", f"{clamps} > {least - 1}"):
        verdict = env.ask(question)
        assert isinstance(verdict, Always) and verdict.check()
    never = env.ask(f"{clamps} == {least - 1}")
    assert isinstance(never, Never) and never.check()
    assert isinstance(env.ask(f"{clamps} > {least}"), Depends)


def test_products_of_clamps_against_their_values() -> None:
    """The bounds of products of clamps agree with their values."""
    numbers = random.Random(7)
    found = {Always: 0, Never: 0, Depends: 0, GaveUp: 0}
    for _ in range(150):
        lows = {name: numbers.choice([-1, 0, 1, 2, 2, 3]) for name in "abcd"}
        highs = {name: low + numbers.randint(2, 4) for name, low in lows.items() if numbers.random() < 0.3}
        factors = [clamp(numbers) for _ in range(numbers.choice([2, 2, 3]))]
        whole = "*".join(factors)
        if numbers.random() < 0.3:
            whole = f"{numbers.randint(2, 3)}*{whole} - {numbers.choice(factors)}"
        code = compile(whole, "whole", "eval")
        spans = [range(low, highs.get(name, low + 4) + 1) for name, low in lows.items()]
        values = [
            eval(code, {"min": min, "max": max}, dict(zip(lows, each, strict=True))) for each in product(*spans)
        ]
        bound = min(values) + numbers.choice([0, 0, 0, 1, -1])
        verdict = environment(lows, highs).ask(f"{whole} >= {bound}")
        found[type(verdict)] += 1
        if isinstance(verdict, GaveUp):
            continue
        assert verdict.check(), (whole, lows, highs)
        assert not isinstance(verdict, Always) or min(values) >= bound, (whole, bound, lows, highs)
        assert not isinstance(verdict, Never) or max(values) < bound, (whole, bound, lows, highs)
    assert found[Always] > 50 and found[Depends] > 30


def clamp(numbers: random.Random) -> str:
    first, second, third = numbers.sample("abcd", 3)
    return numbers.choice(
        [
            f"min({first}, {second})",
            f"max({first}, {second})",
            f"min({first}, {numbers.randint(1, 5)})",
            f"min({first} + {numbers.randint(0, 2)}, {second})",
            f"min({first}, {second}, {third})",
            f"min(max({first}, {second}), {third})",
            first,
        ]
    )


@pytest.mark.parametrize("bound", [0, 1, 2])
def test_factors_whose_bounds_are_stated_smaller(bound: int) -> None:
    """`3*b*m - 1 >= 1` is distinguished from `b*m >= 1`, by which it is proven."""
    env = environment({"a": 2, "b": 1, "c": 1}, {"c": 3})
    verdict = env.ask(f"3*min(a + 1, c)*min(c, a, b)*b - b >= {bound}")
    assert isinstance(verdict, Always) and verdict.check()


def test_forged_ends_are_rejected() -> None:
    """A forged upper bound of a clamp is rejected."""
    terms = Interner()
    a, b, c = (terms.symbol(name) for name in "abc")
    known = Facts.empty(terms)
    for symbol in (a, b, c):
        known = known.declare_range(symbol, 2, None)
    goal = terms.ge(terms.minimum(a, b) * terms.minimum(b, c), 4)
    proof = shift.prove_nonnegative(known, goal.expr)
    assert proof is not None and proof.rule == "shift" and Always(goal, terms.true, "shift", proof, known).check()
    assert isinstance(proof.data, tuple)
    ((atom, (end, lower)), *rest) = proof.data
    assert lower is False
    forgeries = [
        (goal, ((atom, (end - 1, lower)), *rest)),
        (goal, ((atom, (end, True)), *rest)),
        (goal, ((atom, (end, 0)), *rest)),
        (goal, ((atom, (end + atom.expr, lower)), *rest)),
        (goal, (*rest, (atom, (end, lower)))),
        (terms.ge(terms.minimum(a, b) * terms.minimum(b, c), 5), proof.data),
        (terms.ge(terms.minimum(a, b) * terms.minimum(b, c), 4 + a), proof.data),
    ]
    for claim, data in forgeries:
        forged = ProofStep("shift", claim, proof.premises, data)
        assert not Always(claim, terms.true, "shift", forged, known).check()
