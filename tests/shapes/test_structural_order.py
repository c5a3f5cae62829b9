"""Verdicts, texts and cores depend on structure: neither on hash seeds nor on what was asked before."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import suppress

import pytest

from shapes import Always, Depends, Never, ShapeEnv, ShapeError
from solver.terms.interner import Interner

CASES: list[tuple[list[str], str]] = [
    (["a % 4 == 0", "a <= b"], "(a + b)//2 >= a"),
    (["(a - 1)//(b + 1) <= c", "(a - 2)//(b + 1) >= 1"], "(a - 1)//(b + 1) + (a - 2)//(b + 1) <= 2*c"),
    ([], "max(a - 1, b - 2) - max(a - 2, b - 1) <= 1"),
    (["a*b == c*c"], "min(a, b) <= c"),
    (["a == 6 or a == 3", "(8*a + 3*c) % 7 == 6", "a >= 10 or a == 3"], "b == 23"),
    (["a*(b - c) >= 1"], "b >= c + 1"),
    (["max(a, b, c) <= 9"], "a*b + c <= 90"),
    (["a*8 + b*5 == 77"], "a != 3"),
    (["a <= b", "b <= c"], "(c - b)*(b - a) >= 0"),
    (["a != b"], "(a - b)*(a - b) >= 1"),
    (["a % 2 == b % 2"], "(a + b) % 2 == 0"),
]
OPERATIONS = ["({} + {})", "({} - {})", "({}*{})", "({}//(1 + abs({})))", "max({}, {})", "min({}, {})"]


def unrelated(numbers: random.Random, depth: int) -> str:
    if not depth:
        return numbers.choice(["a", "b", "c", "1", "2", "3", "-1", "-2"])
    operation = numbers.choice(OPERATIONS)
    return operation.format(unrelated(numbers, depth - 1), unrelated(numbers, depth - 1))


def answers(before: int) -> list[str]:
    """The answers to all cases, each after so many unrelated questions."""
    numbers = random.Random(before)
    found = []
    for facts, question in CASES:
        env = ShapeEnv(origin=lambda: None, solvers=False)
        env.sizes("a b c")
        for _ in range(before):
            with suppress(ShapeError):  # some are undefined everywhere
                env.ask(f"{unrelated(numbers, 2)} >= {unrelated(numbers, 1)}", effort="fast")
        for fact in facts:
            env.assume(fact)
        verdict = env.ask(question)
        parts = [type(verdict).__name__, str(verdict.prop), *[str(fact.prop) for fact in env.known.records()]]
        if isinstance(verdict, Always | Never):
            parts += [str(verdict.rung), *[str(fact.text) for fact in verdict.core]]
        if isinstance(verdict, Depends):
            parts += [str(dict(verdict.true_at)), str(dict(verdict.false_at))]
        found.append("; ".join(parts))
    return found


@pytest.mark.parametrize("before", [1, 20, 100])
def test_unrelated_questions_change_nothing(before: int) -> None:
    """If this fails, an expression met earlier decides how a later one is oriented, printed or proven."""
    assert answers(before) == answers(0)


def test_hash_seeds_change_nothing() -> None:
    """If this fails, two processes with the same program print, prove or assume different things."""
    program = "from tests.shapes.test_structural_order import answers; print(*answers(3), sep='\\n')"
    outputs = set()
    for seed in ("0", "1", "4242"):
        made = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(made.stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize(("one", "other"), [(-1, -2), (0, 2**61 - 1), (-2, -(2**61) + 1)])
def test_numbers_with_the_same_hash_are_told_apart(one: int, other: int) -> None:
    """If this fails, two operations that differ in a constant are ordered by which was built first."""
    for first, second in ((one, other), (other, one)):
        interner = Interner()
        a, b = interner.symbol("a"), interner.symbol("b")
        keys = {number: ((a + number) // b).atom.key for number in (first, second)}
        assert len(set(keys.values())) == 2
        assert sorted([one, other], key=keys.__getitem__) == sorted([other, one], key=keys.__getitem__)


FACTS_IN_ANY_ORDER: list[tuple[list[str], str]] = [
    (["d + c <= 8", "a % 2 == 0", "max(a, d) <= c", "a*d >= c", "max(b, a) <= c"], "c*d >= a"),
    (["d == max(c, b)", "a <= b", "d*c >= a", "b <= 6", "c*d == b"], "a//4 <= max(1, b)"),
    (["d < a", "a % 4 == 0", "c == max(b, d)", "d*c == b", "c == d or c == 1"], "b*d >= a"),
    (["a*d >= b", "b == 3*d", "c % a == 0", "d == c", "c == 8*a"], "b == max(c, d)"),
    (["d >= 2", "d//6 == b", "b + c == d + 4", "(b + 4)//4 <= a", "c == b + d", "a == d or a == 1"], "1 != c//2"),
    (["c - d == 6", "b % c == 0", "b != c", "b == max(c, a)", "d % 2 == 0", "c <= b"], "d == max(a, b)"),
    (["c*b == a", "a == max(d, c)", "d <= 8", "d*b >= a", "b + d <= 24"], "a == max(b, d)"),
]


def decided(facts: list[str], question: str, unrelated_sizes: int = 0) -> tuple[str, str, int, frozenset[str]]:
    """The kind, the text, the fingerprint and the core."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in "abcd":
        env.unbacked(name, lo=0 if name in "ab" else 1)
    for i in range(unrelated_sizes):
        env.assume(env.unbacked(f"u{i}", lo=0) <= 2 * i)
    for fact in facts:
        env.assume(fact)
    verdict = env.ask(question)
    assert isinstance(verdict, Always | Never) and verdict.check()
    core = frozenset([str(fact.text) for fact in verdict.core])
    return type(verdict).__name__, str(verdict.prop), verdict.prop.fingerprint, core


@pytest.mark.parametrize(("facts", "question"), FACTS_IN_ANY_ORDER)
def test_the_order_of_facts_changes_no_core(facts: list[str], question: str) -> None:
    """If this fails, of several minimal cores the one is shown whose facts came first."""
    expected = decided(facts, question)
    numbers = random.Random(question)
    assert decided(facts[::-1], question) == expected
    assert decided(facts, question, unrelated_sizes=3) == expected
    for _ in range(2):
        assert decided(numbers.sample(facts, len(facts)), question) == expected
