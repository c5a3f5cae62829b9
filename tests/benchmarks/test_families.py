"""Families of questions: their truth, and that it is found for any number of parts."""

from __future__ import annotations

import random

import pytest

from benchmarks import oracle
from benchmarks.baselines import Inexpressible
from benchmarks.question_families import FAMILIES, Case
from shapes import Always, Depends, Never, ShapeEnv

SAMPLES = 200
PARTS = [(name, parts) for name, family in FAMILIES.items() for parts in family.parts if parts <= 16]


def asked(case: Case) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for size in case.sizes:
        env.unbacked(size.name, lo=size.lo, hi=size.hi)
    for fact in case.facts:
        env.assume(fact)
    return env


@pytest.mark.parametrize(("name", "parts"), PARTS)
def test_a_family_is_decided(name: str, parts: int) -> None:
    """If this fails, a question of a family is unknown that was decided, or it is decided wrongly."""
    case = FAMILIES[name].case(parts)
    verdict = asked(case).ask(case.question)
    kind = {Always: "always", Never: "never", Depends: "depends"}.get(type(verdict))
    assert kind == case.truth, f"{case.question}: {verdict!r}"
    assert verdict.check()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_truth_of_a_family_is_true(name: str) -> None:
    """If this fails, a family says of its questions what is false at some sizes."""
    case = FAMILIES[name].case(FAMILIES[name].parts[0])
    pick = random.Random(name)
    wrong = case.truth == "never"
    for reach in (3, 3, 12, 12, 40) * (SAMPLES // 5):
        values = {size.name: pick.randint(-reach if size.lo is None else size.lo, reach) for size in case.sizes}
        if all(oracle.holds(fact, values) for fact in case.facts):
            assert oracle.holds(case.question, values) is not wrong


@pytest.mark.parametrize("name", FAMILIES)
def test_z3_says_nothing_else(name: str) -> None:
    """If this fails, a family's truth is not what z3 says of it, where it says something."""
    pytest.importorskip("z3")
    from benchmarks.baselines.z3_solver import Z3

    case = FAMILIES[name].case(FAMILIES[name].parts[0])
    z3 = Z3()
    try:
        for size in case.sizes:
            z3.symbol(size.name, None, size.lo, size.hi)
        for fact in case.facts:
            z3.assume(fact)
        verdict = z3.ask(case.question).verdict
    except (Inexpressible, KeyError):
        return
    assert verdict in (None, case.truth)
