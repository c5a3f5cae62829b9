"""Smaller witnesses are still witnesses."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes import Depends, ShapeEnv
from shapes.prompt.witnesses import simplest
from tests.effort import processor_seconds

FACTS = ["s % 16 == 0", "b > 3", "b*s <= 10**6", "s != 64", "n < b", "b % 4 == 1 or s > 100"]
QUESTIONS = ["(b*s) % 64 == 0", "b > s", "n >= 0", "s // b == 3", "b == 2**40", "n*n > 10*b", "b % s == 1"]


@given(st.sets(st.sampled_from(FACTS)), st.sampled_from(QUESTIONS), st.integers(4, 50), st.integers(1, 50))
def test_every_witness_is_verified(facts: set[str], question: str, b: int, s: int) -> None:
    """If it fails, a person is shown sizes that do not show what they are said to show."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("b s", hints=(4 * b + 1, 128 * s))
    env.symbol("n", lo=None, hint=-3)
    for fact in sorted(facts):
        env.assume(fact) if env.hint(fact) else None
    verdict = env.ask(question)
    if isinstance(verdict, Depends):
        smaller = simplest(verdict)
        assert smaller.check()
        assert smaller.true_at.keys() == verdict.true_at.keys()
        for before, after in ((verdict.true_at, smaller.true_at), (verdict.false_at, smaller.false_at)):
            assert all(after[name] <= max(before[name], 4096) for name in before)


def test_many_symbols_take_bounded_time() -> None:
    """If it fails, a prompt with thousands of symbols hangs while it makes its answer pretty."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes(" ".join(f"s{i}" for i in range(2000)), hints=[1000] * 2000)
    verdict = env.ask("s0 == s1")
    assert isinstance(verdict, Depends)
    with processor_seconds(100):
        simplest(verdict)


def test_the_same_witnesses_however_busy_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, what a document shows is no longer what is printed, on a machine that does other things as well."""
    clock = iter(range(0, 10**9, 1000))
    for name in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, name, lambda: next(clock))
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("b s", hints=(96, 4096))
    env.assume("s % 16 == 0")
    verdict = env.ask("(b*s) % 64 == 0")
    assert isinstance(verdict, Depends)
    smaller = simplest(verdict)
    assert (smaller.true_at, smaller.false_at) == ({"b": 1, "s": 64}, {"b": 1, "s": 16})
