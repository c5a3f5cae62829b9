"""z3 as an oracle: what it proves is true, what it refutes is shown; names and earlier questions do not matter."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.interop.z3 import Limits, Proved, Refuted, Unknown, entails
from solver.syntax.parser import parse
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.effort import examples
from tests.solver.random_values import some_proposition

PROVED = [
    (["x >= 3", "y >= 0", "y >= x"], "x*y >= 9", (0, 2)),
    (["d < 0", "x >= 0"], "x // d <= 0", (0, 1)),
    (["d < 0"], "x - d*(x // d) <= 0", (0,)),
    (["d != 0"], "x % d != d", (0,)),
    (["d > 0", "x % d == 0"], "(x // d) * d == x", (1,)),
    (["x >= 1", "x <= 0"], "False", (0, 1)),
    (["x > 2 or y > 2", "x <= 2"], "y > 2", (0, 1)),
    ([], "max(x, y) + min(x, y) == x + y", ()),
    (["x >= 0"], "isqrt(x) <= x", (0,)),
    (["x >= 0"], "(x & y) <= x", (0,)),
    (["n >= 0"], "2**n >= 1", (0,)),
    (["x == y"], "isqrt(x) == isqrt(y)", (0,)),
]
REFUTED = [
    ([], "x // d <= x"),
    (["x >= 0", "d != 0"], "x // d >= 0"),
    (["x >= 0", "y >= 0"], "x*y >= 1"),
    (["x*x == y*y"], "x == y"),
    (["x % 4 == 0"], "x % 8 == 0"),
]


def read(terms: Interner, texts: Sequence[str], goal: str) -> tuple[list[Prop], Prop, dict[str, Expr]]:
    names = {name: terms.symbol(name) for name in ("d", "n", "x", "y")}
    return [parse(text, names, terms).prop for text in texts], parse(goal, names, terms).prop, names


@pytest.mark.parametrize(("facts", "goal", "core"), PROVED)
def test_what_follows(facts: list[str], goal: str, core: tuple[int, ...]) -> None:
    """A failure means that z3 is asked another question, or that its core has facts that are not needed."""
    given_facts, asked, _ = read(Interner(), facts, goal)
    assert entails(given_facts, asked) == Proved(core)


@pytest.mark.parametrize(("facts", "goal"), REFUTED)
def test_what_does_not_follow(facts: list[str], goal: str) -> None:
    """A failure means that a counterexample is missing, or does not satisfy the facts."""
    given_facts, asked, _ = read(Interner(), facts, goal)
    answer = entails(given_facts, asked)
    assert isinstance(answer, Refuted)
    assert all(p.evaluate(answer.model) for p in given_facts)
    assert not asked.evaluate(answer.model)


@given(st.integers(0, 2**64))
@settings(max_examples=examples(60), deadline=None)
def test_against_all_small_assignments(seed: int) -> None:
    """A failure means that the translation of some operation is not what Python computes: an unsound proof."""
    terms = Interner()
    rng = random.Random(seed)
    symbols = [terms.symbol(name) for name in "xy"]
    facts = [some_proposition(terms, symbols, rng, 2) for _ in range(2)]
    goal = some_proposition(terms, symbols, rng, 2)
    answer = entails(facts, goal, Limits(steps=200_000, milliseconds=300))
    atoms = [symbol.atom for symbol in symbols]
    divisors = [
        atom.args[1]
        for p in (*facts, goal)
        for atom in p.schedule
        if atom.kind == "floordiv" and isinstance(atom.args[1], Expr)
    ]
    for sizes in itertools.product(range(-5, 6), repeat=2):
        values = dict(zip(atoms, sizes, strict=True))
        try:
            if any(d.evaluate(values) == 0 for d in divisors):
                continue
            satisfied = all(p.evaluate(values) for p in facts)
            holds = goal.evaluate(values)
        except OverflowError:
            continue
        if satisfied and not holds:
            assert not isinstance(answer, Proved), (values, facts, goal)


def test_limits_are_kept() -> None:
    """A failure means that a hard question hangs, or that a huge one is sent."""
    terms = Interner()
    x, y, z = (terms.symbol(name) for name in "xyz")
    cubes = terms.eq(x * x * x + y * y * y + z * z * z, 42)
    assert isinstance(entails([cubes], terms.false, Limits(steps=50_000, milliseconds=500)), Unknown)
    assert "degree" in reason(entails([], terms.ge(terms.power(x, 9), 0)))
    assert "bits" in reason(entails([], terms.ge(x, 2**600)))
    wide = terms.sum([terms.symbol(f"s{i}") for i in range(700)])
    assert "terms" in reason(entails([terms.ge(wide, 0)], terms.false))
    conditional = terms.ge(terms.ite(terms.eq(terms.power(x, 9), y), y, z), 0)
    assert "degree" in reason(entails([], conditional))


def reason(answer: Proved | Refuted | Unknown) -> str:
    assert isinstance(answer, Unknown)
    return answer.reason


def test_names_and_earlier_questions_do_not_matter() -> None:
    """A failure means that the same question is answered differently in another program, or the second time."""
    answers = []
    for renamed in (False, True, False):
        terms = Interner()
        names = {name: terms.symbol(f"z{9 - i}" if renamed else name) for i, name in enumerate("bhsw")}
        facts = [parse(text, names, terms).prop for text in ("s % 16 == 0", "b >= 1", "s >= 1", "h == b*s", "w >= 2")]
        answers.append(entails(facts, parse("h % 8 == 0 and h >= 16", names, terms).prop))
        entails(facts, parse("w*w*w == h*h + 3", names, terms).prop, Limits(steps=50_000))
    assert answers[0] == answers[1] == answers[2]
    assert isinstance(answers[0], Proved)


def test_threads_do_not_disturb_one_another() -> None:
    """A failure means that two environments in two threads share a z3 context."""
    answers: list[object] = []

    def ask(make: Callable[[Interner, Expr], Prop]) -> None:
        terms = Interner()
        x = terms.symbol("x")
        for _ in range(5):
            answers.append(type(entails([terms.ge(x, 2)], make(terms, x))))

    threads = [
        threading.Thread(target=ask, args=(lambda terms, x: terms.ge(x * x, 4),)),
        threading.Thread(target=ask, args=(lambda terms, x: terms.ge(x * x, 5),)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers, key=str) == [Proved] * 5 + [Refuted] * 5


def test_names_with_definitions_keep_them_in_models() -> None:
    """A failure means that a counterexample gives the engine's own symbols sizes that they cannot have."""
    terms = Interner()
    x = terms.symbol("x")
    half = terms.symbol("_0", definition=x // 2)
    answer = entails([terms.eq(half, x // 2), terms.ge(half, 3)], terms.ge(x, 8))
    assert isinstance(answer, Refuted)
    assert answer.model[half.atom] == answer.model[x.atom] // 2
