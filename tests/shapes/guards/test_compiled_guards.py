"""The tests that an environment's compiled guards make, and those that they leave to others."""

from __future__ import annotations

import random

import pytest

from shapes import Dispatch, ShapeEnv
from solver.errors import ShapeError


def environment() -> ShapeEnv:
    env = ShapeEnv()
    b, s = env.sizes("b s", hints=(4, 128))
    env.assume("s % 16 == 0")
    assert env.guard(s > 64)
    assert env.guard((b * s) % 64 == 0)
    return env


def test_assumptions_ranges_and_guards_are_tested() -> None:
    """A failure: compiled code runs on sizes for which it was not traced."""
    check = environment().compile_guards({"b": 0, "s": 1})
    assert check(4, 128) and check(1, 128)
    assert not check(4, 64)  # the guard s > 64
    assert not check(4, 100)  # the assumption s % 16 == 0
    assert not check(1, 80)  # the guard on b*s
    assert not check(-4, 128)  # the range of b


def test_trusted_leaves_assumptions_to_the_caller() -> None:
    """A failure: a caller who has checked the assumptions pays twice, or guards are dropped with them."""
    check = environment().compile_guards({"b": 0, "s": 1}, trusted=True)
    assert check(64, 100) and not check(64, 60) and not check(1, 100)


def test_explain_agrees_with_the_check_and_names_this_file() -> None:
    """A failure: a rejected call is not explained, or explained by a guard that holds."""
    check = environment().compile_guards({"b": 0, "s": 1})
    drawn = random.Random(7)
    for _ in range(300):
        b, s = drawn.randint(-2, 9), drawn.choice([16, 64, 80, 100, 128, 2**40, -16, drawn.randint(0, 400)])
        outcome = check.explain(b, s)
        assert outcome.holds is check(b, s)
        if not outcome.holds:
            assert outcome.requirement is not None
            assert not outcome.requirement.prop.evaluate(
                {atom: {"b": b, "s": s}[atom.name] for atom in outcome.requirement.prop.symbols}
            )
    assert "test_compiled_guards.py:" in str(check.explain(4, 100)) and "s=100" in str(check.explain(4, 100))


def test_run_time_checks_are_left_to_the_program() -> None:
    """A failure: an entry check reads a value that is known only later, or a run-time check is tested too early."""
    env = environment()
    env.unbacked("u0", lo=0)
    env.expect_true("u0 <= s", "more tokens than slots")
    check = env.compile_guards({"b": 0, "s": 1})
    assert check(4, 128) and len(env.runtime_asserts()) == 1


def test_a_missing_source_is_named() -> None:
    """A failure: a guard is dropped in silence because nobody said where its size is."""
    with pytest.raises(ShapeError, match="no source for the symbol s"):
        environment().compile_guards({"b": 0})


def test_shared_sizes_of_two_tensors() -> None:
    """A failure: code for x and y of one batch size runs with two."""
    check = environment().compile_guards({"b": [("x", 0), ("y", 0)], "s": ("x", 1)})
    assert check((4, 128), (4, 7)) and not check((4, 128), (8, 7)) and not check((4,), (4, 7))


def test_dispatch_takes_environments() -> None:
    """A failure: variants cannot be chosen without compiling checks manually."""
    dispatch: Dispatch[str] = Dispatch(["x"])
    dispatch.add(environment(), "traced", sources={"b": ("x", 0), "s": ("x", 1)})
    general = ShapeEnv()
    general.sizes("b s", hints=(1, 1))
    dispatch.add(general, "general", sources={"b": ("x", 0), "s": ("x", 1)})
    assert [dispatch.lookup(x) for x in [(4, 128), (4, 100), (4,), (-1, 5)]] == ["traced", "general", None, None]
