"""Exported statements say what was asked: read by a reader of their own and compared with Python's evaluation."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.coq import refused
from benchmarks.coq_statements import disagreement, read_statement
from shapes import Always, Depends, Never, ShapeEnv
from shapes.errors import Undefined
from solver.coq import theorems_of
from solver.errors import NotExported
from tests.solver.coq.coqc import needs_coq

NORMALIZED = [
    "x // x == 1",
    "x % x == 0 or x > 5",
    "x != 0 and x % x == 0 or x == 0",
    "not (y != 0 and y // y != 1)",
    "max(x, 3) + min(x, 3) == x + 3",
    "abs(x) == max(x, -x)",
    "s + b - b == s",
    "(4*x + 3) // 4 == x",
    "(x*y) // (y*y) == x // y",
    "ceildiv(x, 4) == -(-x // 4)",
    "(x if x > 0 else 0) == max(x, 0)",
    "(x // y if y != 0 else 0) - (x // y if y != 0 else 0) == 0",
    "(x*x) ** 2 == x ** 4",
    "x >> 2 == x // 4 and x << 3 == 8*x",
    "x & 7 == x % 8",
    "x & 6 == x % 8 - x % 2",
    "~x == -x - 1",
    "x + 1 <= x",
    "0 < x - x or y < y",
    "2*x + 1 == 2*y",
]
"""Questions that their normal form alone settles."""


def environment() -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in ("s", "b"):
        env.unbacked(name, lo=1)
    for name in ("x", "y"):
        env.unbacked(name, lo=None)
    return env


def settled(env: ShapeEnv, text: str) -> Always | Never | None:
    try:
        verdict = env.ask(text)
    except Undefined:
        return None
    return verdict if isinstance(verdict, (Always, Never)) else None


def objection(verdict: Always | Never, theorem: str) -> str | None:
    assert verdict.written is not None
    facts = [fact.text for fact in verdict.core]
    return disagreement(theorem, verdict.written, facts, negated=isinstance(verdict, Never))


@needs_coq
def test_what_normalization_settles_is_stated_as_asked(tmp_path: Path) -> None:
    """Each operation stands in the statement, none is `True`, and Coq accepts the proofs."""
    theorems = []
    for place, text in enumerate(NORMALIZED):
        verdict = settled(environment(), text)
        assert verdict is not None and verdict.found.rule == "trivial", text
        (theorem,) = theorems_of(verdict, f"_{place}")[1]
        assert objection(verdict, theorem) is None, theorem
        assert "True" not in read_statement(theorem).text
        theorems.append(theorem)
    assert refused(theorems, tmp_path) == {}


def written(rng: random.Random, depth: int) -> str:
    if not depth:
        return rng.choice(("x", "y", "s", "b", "2", "3", "8"))
    a, b = written(rng, depth - 1), written(rng, rng.randrange(depth))
    forms = ["({a} + {b})", "({a} - {b})", "{a}*{b}", "({a})//({b})", "({a}) % ({b})", "max({a}, {b})", "min({a}, {b})"]
    forms += ["abs({a})", "ceildiv({a}, {b})", "({a} if {b} > 2 else {b})", "({a} << 2)", "({a} & 6)", "({a})**2"]
    return rng.choice(forms).format(a=a, b=b)


def proposition(rng: random.Random) -> str:
    a, b, c = [written(rng, rng.randrange(3)) for _ in range(3)]
    forms = ["{a} <= {b}", "{a} == {a}", "{a} >= {b} or {a} <= {b}", "{a} < {b} < {c}", "not {a} != {b}", "{a} > {a}"]
    forms += ["{b} != 0 and {a} % ({b}) < {b} or {b} <= 0", "{a} >= {b} and {a} < {b}"]
    return rng.choice(forms).format(a=a, b=b, c=c)


@needs_coq
def test_random_statements_say_what_python_evaluates(tmp_path: Path) -> None:
    """Facts and questions of random texts; Coq checks some of the proofs."""
    rng = random.Random(7)
    found: list[str] = []
    refusals = 0
    while len(found) < 80:
        env = environment()
        for _ in range(rng.randrange(2)):
            env.assume(rng.choice(("x >= 2", "y // s >= 1", "b % 4 == 0", "x // y == 3", "y > 0 and x % y == 0")))
        verdict = settled(env, proposition(rng))
        if verdict is None:
            continue
        try:
            (theorem,) = theorems_of(verdict, f"_{len(found)}")[1]
        except NotExported:
            refusals += 1
            continue
        assert objection(verdict, theorem) is None, (verdict.written, theorem)
        found.append(theorem)
    assert refusals <= 4
    assert refused(found[:40], tmp_path) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [("mod", "/"), ("<=", "<"), ("<> 0", "<> 1"), ("y mod x", "x mod y"), ("- 1", "- 2")],
)
def test_another_statement_is_noticed(old: str, new: str) -> None:
    """The reader refutes a statement in which one thing was exchanged."""
    verdict = settled(environment(), "x == 0 or (0 <= y % x and y % x <= x - 1) or x < 0")
    assert verdict is not None
    (theorem,) = theorems_of(verdict)[1]
    statement, _, proof = theorem.partition("Proof.")
    assert old in statement and objection(verdict, theorem) is None
    assert objection(verdict, f"{statement.replace(old, new)}Proof.{proof}") is not None


def test_each_text_keeps_its_own_statement() -> None:
    """Questions with one normal form are one answer, each stated as it was asked; a proposition has no text."""
    env = environment()
    first, second = env.ask("2*s >= 1"), env.ask("s + b - b > 0")
    assert isinstance(first, Always) and isinstance(second, Always) and first == second
    again = env.ask("2*s >= 1")
    assert isinstance(again, Always) and again == first and again.export() == first.export()
    assert "((2 * s) >= 1)" in first.export() and "(((s + b) - b) > 0)" in second.export()
    assert first.core == second.core and first.proof is second.proof
    plain = env.ask(env.size("s") >= 1)
    assert isinstance(plain, Always) and plain.written is None and "0 <= s - 1" in plain.export()


def test_sizes_that_show_both_outcomes_satisfy_the_texts() -> None:
    env = environment()
    env.assume("x // s >= 1")
    verdict = env.ask("x % s == 0")
    assert isinstance(verdict, Depends)
    text = verdict.export()
    assert text.count("((s <> 0) /\\ ((x / s) >= 1))") == 2
    assert "((x mod s) = 0)" in text and "(~ ((x mod s) = 0))" in text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x / 4 + 0.5 > -1e300 or x <= x", "not integer arithmetic"),
        ("True", "states nothing"),
        ("not (False)", "states nothing"),
    ],
)
def test_what_cannot_be_stated_is_refused(text: str, why: str) -> None:
    verdict = settled(environment(), text)
    assert verdict is not None
    with pytest.raises(NotExported, match=why) as error:
        verdict.export()
    assert error.value.rule == "text"


def test_an_enumeration_over_doubles_is_refused() -> None:
    """Coq cannot compute what an opaque function is."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    h = env.unbacked("h", lo=1, hi=11)
    verdict = env.ask(env.size("int(0.3 * h)") * h <= 33)
    assert isinstance(verdict, Always)
    if verdict.rung == "box":
        with pytest.raises(NotExported, match="cannot compute"):
            verdict.export()
