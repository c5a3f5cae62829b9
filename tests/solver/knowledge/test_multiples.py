"""Remainders that are known not to be something, and what that says of other remainders."""

import random
from itertools import product
from math import lcm

import pytest

from shapes import ShapeEnv
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.knowledge.facts import Facts
from solver.knowledge.multiples import prove_no_multiple
from solver.proofs.step import ProofStep
from solver.terms.interner import Interner


def environment() -> ShapeEnv:
    return ShapeEnv(origin=lambda: None, solvers=False)


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("s % 3 != 0", "s % 12 == 0"),
        ("s % 3 != 1", "s % 12 == 7"),
        ("s % 5 != 2", "(3*s + 1) % 5 == 2"),
        ("(2*s) % 7 != 1", "(s + 7*t) % 21 == 4"),
        ("(s + 2*t) % 5 != 3", "(s + 2*t + 5) % 20 == 18"),
        ("(2*s - 3*t) % 8 != 6", "(6*s - t) % 16 == 2"),
    ],
)
def test_a_remainder_that_is_excluded_excludes_those_that_lead_to_it(fact: str, question: str) -> None:
    """An excluded remainder excludes those that lead to it, without a supposition for each question."""
    env = environment()
    env.symbol("s", lo=0)
    env.symbol("t", lo=None)
    env.assume(fact)
    verdict = env.ask(question)
    assert isinstance(verdict, Never) and verdict.rung == "bounds" and verdict.check()
    assert [each.text for each in verdict.core] == [fact]


def test_a_forged_step_is_rejected() -> None:
    """A forged substitution, here to another remainder, is rejected."""
    terms = Interner()
    s = terms.symbol("s")
    known = Facts.empty(terms).declare_range(s, 0, None).learn_prop(terms.ne(s % 3, 0))
    goal = terms.ne((7 * s) % 12, 6)
    proof = prove_no_multiple(known, goal)
    assert proof is not None and Never(goal.negation, terms.true, "bounds", proof, known).check()
    (rewriting,) = proof.premises
    (((monomial, image),),) = rewriting.data
    for other in (image + 1, image * 7, s + 12 * ((7 * s) // 12)):
        forged = ProofStep("rewrite", terms.false, rewriting.premises, (((monomial, other),),))
        again = ProofStep("refute", goal, (forged,), goal.negation)
        assert not Never(goal.negation, terms.true, "bounds", again, known).check()
    for value in (5, 7):  # 7*s % 12 may be these
        wrong = terms.ne((7 * s) % 12, value)
        assert prove_no_multiple(known, wrong) is None
        again = ProofStep("refute", wrong, (rewriting,), wrong.negation)
        assert not Never(wrong.negation, terms.true, "bounds", again, known).check()


def test_what_is_said_of_remainders_is_what_enumeration_says() -> None:
    """Answers about remainders, and their proofs, agree with enumeration."""
    pick = random.Random(16)
    sizes = list(product(range(61), range(-20, 41)))
    found = 0
    for _ in range(120):
        env = environment()
        env.symbol("s", 0, 60)
        env.symbol("t", -20, 40)

        def line() -> str:
            return f"({pick.randint(-7, 7)}*s + {pick.randint(-3, 3)}*t + {pick.randint(-9, 9)})"

        facts = [f"{line()} % {pick.choice([3, 4, 5, 8, 9])} != {pick.randint(0, 4)}" for _ in range(2)]
        question = f"{line()} % {pick.choice([3, 6, 8, 9, 12, 20])} == {pick.randint(0, 9)}"
        if all(env.ask(fact) is not None and not isinstance(env.ask(fact), Never) for fact in facts):
            try:
                for fact in facts:
                    env.assume(fact)
            except ValueError:
                continue
        else:
            continue
        codes = [compile(text, text, "eval") for text in [*facts, question]]
        rows = [{"s": s, "t": t} for s, t in sizes]
        rows = [row for row in rows if all(eval(code, {}, row) for code in codes[:-1])]
        truths = {eval(codes[-1], {}, row) for row in rows}
        verdict = env.ask(question)
        if rows and isinstance(verdict, (Always, Never, Depends)):
            found += 1
            expected = {frozenset([True]): Always, frozenset([False]): Never}.get(frozenset(truths), Depends)
            assert type(verdict) is expected and verdict.check(), (facts, question)
    assert found > 60


def test_a_size_that_many_numbers_do_not_divide() -> None:
    """A size that 2,000 numbers do not divide costs little per number."""
    env = environment()
    size = env.symbol("s", hint=1)
    open_ones = 0
    for i in range(2, 300):
        verdict = env.ask(size % i == 0)
        prime = all(i % d for d in range(2, i))
        assert type(verdict) is (Depends if prime else Never), i
        open_ones += prime
        assert not env.guard(size % i == 0)
    assert len(env.guards()) == open_ones == 62


@pytest.mark.parametrize("hint", [1, 1_000_003])
def test_minimal_guards_of_remainders_are_those_of_primes(hint: int) -> None:
    """The minimal guards of remainders are those of primes."""
    env = environment()
    size = env.symbol("s", hint=hint)
    for i in range(2, 60):
        env.guard(size % i == 0)
    primes = [i for i in range(2, 60) if all(i % d for d in range(2, i))]
    guards = env.guards()
    assert [guard.text for guard in guards] == [f"s % {i} != 0" for i in primes]
    for guard, i in zip(guards, primes, strict=True):
        assert guard.rejects is not None
        value = guard.rejects["s"]
        assert [p for p in primes if value % p == 0] == [i]


@pytest.mark.parametrize("hint", [720720, 2**20, 10**6])
def test_sizes_that_leave_the_remainders_known_are_found(hint: int) -> None:
    """A search for a size keeps the known remainders."""
    env = environment()
    size = env.symbol("s", lo=0, hint=hint)
    open_ones = 0
    for divisor in range(2, 200):
        verdict = env.ask(size % divisor == 0)
        assert not isinstance(verdict, GaveUp), divisor
        open_ones += isinstance(verdict, Depends)
        env.guard(size % divisor == 0)
    assert open_ones > 20


def test_remainders_of_one_size_against_all_its_values() -> None:
    """Remainders of one size agree with all its values, also where divisors share a factor."""
    numbers = random.Random(11)
    found = []
    for _ in range(120):
        env = environment()
        env.symbol("s", lo=0)
        hidden = numbers.randrange(10_000)
        facts = []
        for _ in range(numbers.randint(2, 6)):
            divisor = numbers.choice([2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16])
            same = numbers.random() < 0.5
            others = [rest for rest in range(divisor) if rest != hidden % divisor]
            facts.append((divisor, hidden % divisor if same else numbers.choice(others), same))
        for divisor, rest, same in facts:
            env.assume(f"s % {divisor} {'==' if same else '!='} {rest}")
        divisor = numbers.choice([2, 3, 4, 5, 7, 9, 11, 13, 25, 27])
        rest = numbers.choice([0, hidden % divisor, numbers.randrange(divisor)])
        period = lcm(divisor, *[each for each, _, _ in facts])
        values = [v for v in range(period) if all((v % each == r) == same for each, r, same in facts)]
        truths = {v % divisor == rest for v in values}
        expected = Depends if len(truths) == 2 else Always if truths == {True} else Never
        verdict = env.ask(f"s % {divisor} == {rest}")
        assert isinstance(verdict, expected) and verdict.check(), (facts, divisor, rest)
        found.append(expected)
    assert {Always, Depends, Never} == set(found)


SEVERAL = [(4, 6), (6, 4), (4, 12), (4, 9), (6, 10, 15), (8, 12, 18), (12, 4), (2, 3, 4, 5, 6)]


@pytest.mark.parametrize("numbers", SEVERAL)
def test_multiples_of_several_numbers_are_multiples_of_the_least_common_one(numbers: tuple[int, ...]) -> None:
    """They are solved together, in any order: sums of many such sizes are no search."""
    env = environment()
    names = [f"s{k}" for k in range(20)]
    for name in names:
        env.symbol(name, lo=0)
        for number in numbers:
            env.assume(f"{name} % {number} == 0")
    whole = lcm(*numbers)
    verdict = env.ask(f"({' + '.join(names)}) % {whole} == 0")
    assert isinstance(verdict, Always) and verdict.rung == "substitution" and verdict.check()
    assert len(verdict.core) >= len(names)
    assert isinstance(env.ask(f"{names[0]} % {2 * whole} == 0"), Depends)
    assert env.ask(f"{names[0]} == {whole}").check()


def test_congruences_of_a_quotient_agree_with_enumeration() -> None:
    """A multiple by a name of its own, and by a name of that name, has the values that its facts allow."""
    draw = random.Random(20)
    for _ in range(60):
        env = environment()
        env.symbol("a", lo=0, hi=240)
        numbers = [draw.choice((2, 3, 4, 6, 8, 9, 10, 12)) for _ in range(draw.randint(2, 4))]
        for number in numbers:
            env.assume(f"a % {number} == 0")
        values = [a for a in range(241) if all(a % number == 0 for number in numbers)]
        for divisor in (4, 6, 9, 12):
            for remainder in (0, draw.randrange(divisor)):
                truths = {a % divisor == remainder for a in values}
                verdict = env.ask(f"a % {divisor} == {remainder}")
                expected = Depends if len(truths) == 2 else Always if True in truths else Never
                assert isinstance(verdict, expected) and verdict.check(), (numbers, divisor, remainder)


def test_tiles_and_half_of_one_fit() -> None:
    """If this fails, an even tile of a case is rewritten as two halves, and the law of its quotient is lost."""
    env = ShapeEnv()
    env.sizes("n w")
    env.assume("w >= 1")
    verdict = env.ask("(n//w)*(w//2 + 1) <= n")
    assert isinstance(verdict, Always) and verdict.check()
