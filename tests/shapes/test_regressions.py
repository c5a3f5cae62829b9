"""Bugs that random programs found, each as small as it could be made."""

from __future__ import annotations

import pytest

from shapes import Always, Depends, GaveUp, Never, ShapeEnv
from shapes.errors import Contradiction, UndecidedGuard, Undefined

Bounds = tuple[int | None, int | None]


def environment(facts: tuple[str, ...] = (), **bounds: Bounds) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name, (lo, hi) in bounds.items():
        env.symbol(name, lo, hi)
    for fact in facts:
        env.assume(fact)
    return env


@pytest.mark.parametrize(
    ("bounds", "facts", "question"),
    [
        # a bound of a rewritten product: the content of the other side was left out of the multiplier
        ({"x": (2, 7), "y": (0, 1)}, ("x*y <= -(8*y)",), "(y // -3)*y*y < y"),
        ({"x": (0, None), "y": (2, None)}, ("(y*x) % 6 == 1",), "abs(x*y) >= 1"),
        # `2*_0 + 1 >= 0` is `_0 >= 0`: times a row it is less than the factor itself
        ({"x": (0, None)}, ("(4 // x) % 3 == 2",), "x % 2 == 1"),
        (
            {"x": (None, None), "y": (0, None)},
            ("y == x or x*x <= x", "6 - x < 2*x and (9*x >= 11 or ceildiv(5, y) < 2*y)", "abs(y) % 4 == 1"),
            "max(6, x) == y // 7 or x // y != 3",
        ),
    ],
)
def test_proofs_check(bounds: dict[str, Bounds], facts: tuple[str, ...], question: str) -> None:
    """If this fails, a right answer comes with a proof that does not check."""
    assert environment(facts, **bounds).ask(question).check()


@pytest.mark.parametrize(
    ("bounds", "facts", "question"),
    [
        # a shift by a huge constant was computed
        ({"x": (None, None)}, ("x == 2**70",), "(x << x) >= 0"),
        ({"x": (-5, None)}, (), "((x + x) >> x) >= (max(8, x) if x != 2 else -x)"),
        # roots of powers of roots had millions of bits
        ({"x": (None, 7)}, (), "(x*x)*(x >> 2) == 6 + x // 8 > (x*x) % x"),
        # points of relaxations had millions of bits after some cases of cubes
        ({"x": (1, None)}, ("x % 5 == 0",), "abs((-x) % 3 - x) <= x*abs(x*x)"),
        # a rule for x*y whose image has x*y inside an operation nested it in itself
        (
            {"x": (0, 2), "y": (2, 5), "z": (-5, None)},
            ("x*x < 2", "((z*y) if not (z % 3 == 0) else y) % 3 == 0 or (max(y, y)*z) == (x - (x*z))"),
            "y*z != 7",
        ),
    ],
)
def test_time_is_bounded(bounds: dict[str, Bounds], facts: tuple[str, ...], question: str) -> None:
    """If this hangs, some step works on numbers or expressions that grow without a limit."""
    assert environment(facts, **bounds).ask(question, effort="fast").check()


def test_a_chain_of_comparisons_stops_where_it_fails() -> None:
    """If this fails, `a < b < c // d` needs d != 0 where Python does not evaluate that far."""
    env = environment(x=(0, 9), z=(0, 9))
    prop, domain = env.parse("5 < x < 8 // z")
    values = {env.names["x"].atom: 1, env.names["z"].atom: 0}
    assert domain.evaluate(values) and not prop.evaluate(values)
    assert not domain.evaluate({**values, env.names["x"].atom: 7})


def test_a_value_too_large_to_compute_is_no_witness() -> None:
    """If this fails, a sample whose powers are too large counts as if they were zero."""
    env = environment(x=(0, None))
    verdict = env.ask("(-2)**x == 0")
    assert isinstance(verdict, (Never, GaveUp)) and verdict.check()
    env = environment(("(-3)**x != 1",), x=(0, None))
    sizes = env.check_consistent()
    assert sizes is not None and sizes["x"] < 1000
    match env.ask("x % 2 == 0"):
        case Depends(true_at, false_at):
            assert true_at["x"] % 2 == 0 and false_at["x"] % 2 == 1
        case other:
            assert isinstance(other, GaveUp)


def test_a_fact_and_its_negation_contradict_each_other() -> None:
    """If this fails, an equality of products does not see that just this value was excluded."""
    env = environment(("y*z % 3 != 0",), y=(-3, None), z=(1, None))
    with pytest.raises(Contradiction):
        env.assume("y*z % 3 == 0")


def test_a_guard_that_fails_takes_its_domain_back() -> None:
    """If this fails, a guard that raised has left behind that the divisor is not zero."""
    env = environment(v=(None, None))
    u = env.symbol("u", hint=12)
    before = env.events
    with pytest.raises(UndecidedGuard):
        env.guard("v % u == 2")
    assert env.events == before and isinstance(env.ask(u == 0), Depends)


def test_a_guard_is_about_inputs() -> None:
    """If this fails, a guard needs a value that is known only when the program runs, and no check before reads it."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.symbol("w", hint=0)
    env.unbacked("v", lo=0)
    assert env.guard("w >= 1 and w >= v") is False
    (guard,) = env.guards()
    assert {atom.name for atom in guard.prop.symbols} == {"w"}
    assert isinstance(env.ask("w >= 1 and w >= v"), Never)


def test_a_join_that_fails_leaves_nothing() -> None:
    """If this fails, a join that raised has kept the facts that it had joined so far."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.symbol("s", hint=3)
    env.unbacked("v")
    branches = env.fork(under="v >= 1"), env.fork(under="v < 1")
    for branch in branches:
        branch.assume("v >= -5")
        branch.hints.clear()  # a way that this run does not take
        branch.assume("s >= 9")
    before = env.events
    with pytest.raises(Contradiction):
        env.join(*branches)
    assert env.events == before


def test_names_that_are_each_others_images() -> None:
    """If this fails, a search follows names that equalities express by each other until the stack ends."""
    facts = ("(5*c + d - 3*e) % 5 == 3", "8*a + 7*d == 80")
    env = environment(facts, a=(-9, -1), c=(0, None), d=(0, None), e=(0, None))
    verdict = env.ask("d >= 1")
    assert isinstance(verdict, Always) and verdict.check()


def test_a_function_in_text_has_its_domain() -> None:
    """If this fails, `isqrt` of a negative number is taken to have a value."""
    env = environment(x=(-5, 20), y=(None, None))
    verdict = env.ask("isqrt(x) <= 0")
    assert isinstance(verdict, Depends) and verdict.true_at["x"] == 0 and verdict.false_at["x"] > 0
    assert isinstance(env.ask("y < 0 or isqrt(y) >= 0"), Always)
    with pytest.raises(Undefined):
        env.ask("isqrt(-7) == 0")
    env.assume("isqrt(x) == 0")
    assert isinstance(env.ask("x >= 0"), Always)
    check = env.compile_guards({"x": 0})
    assert check(0) and not check(-4)


def test_an_empty_interval_is_no_divisor() -> None:
    """If this fails, facts whose contradiction is not noticed yet divide by zero."""
    from solver.terms import intervals

    assert intervals.quotient((-4, -2), (3, 0)) == intervals.EVERYTHING
    assert intervals.raised((2, 5), (3, -2)) == intervals.raised((5, 2), (1, 2)) == intervals.EVERYTHING


def test_settled_answers_stand() -> None:
    """If this fails, the answers above are found by chance: the same questions are settled without the odd parts."""
    assert isinstance(environment(("x*y <= -(8*y)",), x=(2, 7), y=(0, 1)).ask("y == 0"), Always)
