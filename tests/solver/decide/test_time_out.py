"""Time-outs: where the deadline is looked at, and that an interrupted question leaves no trace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from benchmarks.question_families import FAMILIES
from shapes import Depends, GaveUp, ShapeEnv
from solver.terms import deadline
from solver.terms.deadline import Late, limited, look, seconds_left
from solver.terms.prop import Prop

CASES = [
    ("clamped slices", 6), ("maxima in reverse", 6), ("index in bounds", 5), ("pages together", 5),
    ("broadcast axes", 6), ("window counts", 6), ("odd by gcd", 3), ("offsets told in reverse", 12),
    ("scaled maxima", 5), ("strided again", 4), ("prefix sums", 8), ("multiples of two numbers", 4),
]  # fmt: skip
PLACES = 12
"""Looks at which a question is interrupted, spread over all."""
BETWEEN = 8_000
"""Calls of Python functions between two looks, at most: some milliseconds."""


class Clock:
    """A clock that counts its readings; from one of them on, each is ages after the one before."""

    def __init__(self, over: int | None = None) -> None:
        self.reads = 0
        self.over = over

    def __call__(self) -> float:
        self.reads += 1
        return 1e9 * self.reads if self.over is not None and self.reads >= self.over else 0.0


@contextmanager
def reading(clock: Clock) -> Iterator[None]:
    usual = deadline.clock
    deadline.clock = clock
    try:
        yield
    finally:
        deadline.clock = usual


def told(name: str, parts: int) -> tuple[ShapeEnv, Prop, Prop]:
    case = FAMILIES[name].case(parts)
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for size in case.sizes:
        env.unbacked(size.name, lo=size.lo, hi=size.hi)
    for fact in case.facts:
        env.assume(fact)
    return env, *env.parse(case.question)


def summary(verdict: object) -> tuple[object, ...]:
    return (type(verdict).__name__, getattr(verdict, "rung", None), str(verdict))


@pytest.mark.parametrize(("name", "parts"), CASES)
def test_an_interrupted_question_leaves_no_trace(name: str, parts: int) -> None:
    """If this fails, a question that its time-out ended half-way is answered otherwise when it is asked again."""
    env, prop, domain = told(name, parts)
    expected = summary(env.verdict_on(prop, domain))
    clock = Clock()
    with reading(clock):
        env, prop, domain = told(name, parts)
        env.verdict_on(prop, domain, timeout=1000000)
    interruptions = 0
    for over in range(2, clock.reads, max(1, clock.reads // PLACES)):
        env, prop, domain = told(name, parts)
        with reading(Clock(over)):
            interrupted = env.verdict_on(prop, domain, timeout=1000000)
        interruptions += isinstance(interrupted, GaveUp) and "timeout" in interrupted.reason
        assert summary(env.verdict_on(prop, domain)) == expected, over
    assert interruptions >= min(PLACES, clock.reads) // 2


def test_a_limit_inside_another_is_no_longer_than_that() -> None:
    assert seconds_left() is None
    with limited(100):
        with limited(1_000):
            left = seconds_left()
            assert left is not None and left <= 100
        with limited(-1), pytest.raises(Late):
            look()
        look()
    look()


def test_a_thread_has_a_deadline_of_its_own() -> None:
    """If this fails, one thread's time-out ends the question of another."""
    seen: list[object] = []

    def ask() -> None:
        look()
        env = ShapeEnv(origin=lambda: None)
        x, y = env.symbol("x", 0), env.symbol("y", 0)
        seen.append(env.ask(x * y >= x))

    with limited(-1):
        thread = Thread(target=ask)
        thread.start()
        thread.join()
        with pytest.raises(Late):
            look()
    assert isinstance(seen[0], Depends)


STRETCHES = f"""
import sys
from tests.solver.decide.test_time_out import CASES, Clock, reading, told

class Counting(Clock):
    calls = last = longest = 0

    def __call__(self):
        self.longest = max(self.longest, self.calls - self.last)
        self.last = self.calls
        return super().__call__()

for name, parts in CASES:
    env, prop, domain = told(name, parts)
    env.verdict_on(prop, domain)  # what is loaded on demand
    env, prop, domain = told(name, parts)
    clock = Counting()

    def count(frame, event, argument):
        clock.calls += event == "call"

    with reading(clock):
        sys.setprofile(count)
        env.verdict_on(prop, domain, timeout=1000000)
        sys.setprofile(None)
    assert clock.longest <= {BETWEEN}, (name, clock.longest)
    print(name, clock.longest)
"""


def test_little_work_is_done_between_looks_at_the_deadline() -> None:
    """If this fails, some work goes on after a time-out: whoever waits for the answer waits longer than was asked.
    Calls are counted, in the sources: compiled functions are not seen."""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "SYMSHAPE_PURE": "1", "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", STRETCHES], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-600:]
    assert len(done.stdout.splitlines()) == len(CASES)
