"""Clamps and quotients whose sign one fact shows, or two."""

import random
from itertools import product

import pytest

from shapes import ShapeEnv
from shapes.errors import ShapeError
from solver.decide.verdict import Always, Depends, Never
from solver.knowledge import single
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep
from solver.terms.interner import Interner

MASKED = "max(0, min(min(n, a) + n - a, c)) + max(0, min(n, a) + n - min(min(n, a) + n - a, c + d) - a) + d == n"


def environment(names: str) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in names.split():
        env.symbol(name, lo=0)
    return env


@pytest.mark.parametrize(
    ("facts", "question"),
    [
        (["a + b <= n"], "min(n, a) == a"),
        (["a + b <= n", "c + d <= n"], MASKED),
        (["a*b + c*d <= n", "a*b >= 1"], "min(n, a*b)*m % (a*b) == 0"),
        (["2*a < n", "a >= 1"], "max(n//a, 1) == n//a"),
        (["2*a < n", "a >= 1"], "max(1, n//a*a) == n//a*a"),
        (["2*a < n", "a >= 1", "m >= 2"], "n//a*m*a != min(n, n//a*a)"),
        (["c <= n", "b + 4 <= c", "b >= 1"], "max(1, n + a - b)*m == (n + a - b)*m"),
        (["a <= n", "a >= 1", "b >= 3"], "n//a*b >= 3"),
        (["a*b % c == 0", "a >= 1", "b >= 1"], "max(1, a*b//c)*m == a*b//c*m"),
        (["(n - min(a, n - 1))*b % c == 0", "b >= 1", "n >= 2"], "(n - min(a, n - 1))*b//c >= 1"),
        (["a < n", "m >= 2"], "max(1, 16*((n + 15)//16) + min(16*(a//16), m) - 16*(a//16)) >= 2"),
    ],
)
def test_the_sign_of_a_clamp_follows_from_a_fact_or_two(facts: list[str], question: str) -> None:
    """The sign of a clamp follows from one fact or two."""
    env = environment("a b c d m n")
    for fact in facts:
        env.assume(fact)
    verdict = env.ask(question)
    assert isinstance(verdict, Always) and verdict.check()
    # without the first fact it does not follow: the proof rests on it
    env = environment("a b c d m n")
    for fact in facts[1:]:
        env.assume(fact)
    assert not isinstance(env.ask(question), (Always, Never))


def test_forged_sums_are_rejected() -> None:
    """Forged sums of multiples of facts are rejected."""
    terms = Interner()
    a, b, c = (terms.symbol(name) for name in "abc")
    known = Facts.empty(terms)
    for symbol in (a, b, c):
        known = known.declare_range(symbol, 0, None)
    known = known.learn_prop(terms.le(2 * a + b, c))
    goal = terms.ge(c, 2 * a)
    proof = single.prove_nonnegative(known, goal.expr)
    assert proof is not None and proof.conclusion is goal
    assert Always(goal, terms.true, "shift", proof, known).check()
    (multipliers, slack) = proof.data
    for data in (((multipliers[0], multipliers[1] + 1), slack), ((2, 1), slack), (multipliers, slack - 1)):
        forged = ProofStep("combine", goal, proof.premises, data)
        assert not Always(goal, terms.true, "shift", forged, known).check()
    stronger = terms.ge(c, 2 * a + 1)
    assert single.prove_nonnegative(known, stronger.expr) is None
    forged = ProofStep("combine", stronger, proof.premises, proof.data)
    assert not Always(stronger, terms.true, "shift", forged, known).check()


def test_a_product_is_at_least_one_where_its_factors_are() -> None:
    """A product is at least one where its factors are."""
    terms = Interner()
    a, n = terms.symbol("a"), terms.symbol("n")
    known = Facts.empty(terms).declare_range(a, 1, None).declare_range(n, 0, None).learn_prop(terms.le(a, n))
    e = n // a * a - 1
    proof = single.prove_nonnegative(known, e)
    assert proof is not None and Always(proof.conclusion, terms.true, "shift", proof, known).check()
    assert proof.conclusion is terms.ge(n // a * a, 1)
    wider = Facts.empty(terms).declare_range(a, 1, None).declare_range(n, 0, None)
    assert single.prove_nonnegative(wider, e) is None


def test_an_exact_quotient_of_something_positive_is_positive() -> None:
    """A quotient of something positive is positive where the division is exact, and only there."""
    terms = Interner()
    a, b, c = (terms.symbol(name) for name in "abc")
    wider = Facts.empty(terms)
    for symbol in (a, b, c):
        wider = wider.declare_range(symbol, 1, None)
    e = (a * b) // c - 1
    assert single.prove_nonnegative(wider, e) is None
    known = wider.learn_prop(terms.eq((a * b) % c, 0))
    proof = single.prove_nonnegative(known, e)
    goal = terms.ge(e, 0)
    assert proof is not None and proof.conclusion is goal and Always(goal, terms.true, "shift", proof, known).check()
    (false,) = proof.premises
    below, _, positive = false.premises
    multipliers, slack = false.data
    inexact = ProofStep("axiom", terms.ge(c * (a * b // c), a * b), (), ((a * b // c).atom, "below"))
    for premises, data in (
        ((below, inexact, positive), false.data),
        (false.premises, ((multipliers[0], multipliers[1], multipliers[2] + 1), slack)),
        (false.premises[:1] + false.premises[2:], ((multipliers[0], multipliers[2]), slack)),
    ):
        forged = ProofStep("refute", goal, (ProofStep("combine", terms.false, premises, data),), goal.negation)
        assert not Always(goal, terms.true, "shift", forged, known).check()


def test_answers_about_clamps_are_those_of_enumeration() -> None:
    """Answers about clamps, and their proofs, agree with enumeration."""
    pick = random.Random(4)
    names = "a b n"
    sizes = [dict(zip("abn", values, strict=True)) for values in product(range(1, 9), repeat=3)]
    functions = {"min": min, "max": max}
    decided = 0
    for _ in range(150):
        env = ShapeEnv(origin=lambda: None, solvers=False)
        for name in names.split():
            env.symbol(name, 1, 8)
        facts = [
            pick.choice(["a + b <= n", "2*a < n", "a*b <= n", "a <= n - 2", "b <= n//a", "n - a >= b", "a*b % n == 0"])
            for _ in range(2)
        ]
        x = pick.choice(["min(n, a)", "min(n, a*b)", "max(n - a, 0)", "max(n//a, 1)", "n//a*a", "n//a*b", "a*b//n"])
        y = pick.choice(["a", "n", "n//a", "a*b", "n - a", "max(1, n//a*a)", "min(n, b) + n - b", "1"])
        question = f"{x} {pick.choice(['==', '<=', '>', '!='])} {y}"
        try:
            for fact in facts:
                env.assume(fact)
        except ShapeError:
            continue
        rows = [row for row in sizes if all(eval(fact, functions, row) for fact in facts)]
        truths = {eval(question, functions, row) for row in rows}
        verdict = env.ask(question)
        if rows and isinstance(verdict, (Always, Never, Depends)):
            decided += 1
            expected = {frozenset([True]): Always, frozenset([False]): Never}.get(frozenset(truths), Depends)
            assert type(verdict) is expected and verdict.check(), (facts, question)
    assert decided > 100


@pytest.mark.parametrize("least", range(9))
def test_a_product_whose_factors_are_large_proves_what_is_asked_of_it(least: int) -> None:
    """The proof about a product with large factors is of the inequality that the verdict states."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in "abc":
        env.symbol(name, lo=2)
    for text in (f"a*b*min(b, c) >= {least}", f"3*a**2*min(b, c) >= {least}", f"2*a*b*c*max(b, c) >= {least}"):
        verdict = env.ask(text)
        assert isinstance(verdict, Always) and verdict.check(), text
