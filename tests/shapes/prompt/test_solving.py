"""Least and greatest values, models, equations and implications, beside all sizes of a small box."""

import itertools

import pytest

from shapes import ShapeEnv
from shapes.errors import Contradiction, ShapeError
from shapes.prompt.solving import model, optimum, solution

BOX = range(5)
FACTS = ("True", "b >= 1", "b + s <= 5", "s % 2 == 0 and b != s", "b*s >= 3", "b > 4")
EXPRESSIONS = ("b", "b*s - 3*s", "(b + 3) // 2", "s % 3 - b", "min(b, s) + 2*b", "max(b - s, s - b)", "(b - 2)**2 - s")
EQUATIONS = [("2*b + 1", "s"), ("b*s", "4"), ("b*b", "s*s"), ("b + s", "3"), ("3*b - s", "b"), ("b*s - s", "2")]
NAMES = {"min": min, "max": max, "ceildiv": lambda n, d: -(-n // d)}
POINTS = [{"b": b, "s": s} for b, s in itertools.product(BOX, BOX)]


def boxed(fact: str) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None)
    env.sizes("b s", lo=0, hi=4)
    env.assume(fact)
    return env


def value_of(text: str, point: dict[str, int]) -> int:
    return int(eval(text, {**NAMES, **point}))


def holds(text: str, point: dict[str, int]) -> bool:
    return bool(value_of(text, point))


@pytest.mark.parametrize("fact", FACTS)
def test_optima_are_those_of_all_sizes(fact: str) -> None:
    """The value is the best that any size has, and is taken where it is said to be."""
    allowed = [point for point in POINTS if holds(fact, point)]
    if not allowed:
        with pytest.raises(Contradiction):
            model(boxed(fact))
        return
    assert model(boxed(fact)) in allowed
    for text, greatest in itertools.product(EXPRESSIONS, (False, True)):
        found = optimum(boxed(fact), text, greatest=greatest)
        values = [value_of(text, point) for point in allowed]
        assert found.value == found.bound == (max if greatest else min)(values), (text, greatest)
        if found.sizes:
            whole = [point for point in allowed if found.sizes.items() <= point.items()]
            assert whole and all(value_of(text, each) == found.value for each in whole)


@pytest.mark.parametrize(("left", "right"), EQUATIONS)
def test_solutions_are_those_of_all_sizes(left: str, right: str) -> None:
    """Where the conditions hold the equation holds for one of the values alone."""
    found = solution(boxed("True"), left, right, "b")
    for point in POINTS:
        equal = holds(f"({left}) == ({right})", point)
        try:
            where = all(holds(text, point) for text in found.where)
        except ZeroDivisionError:  # the condition before it is that the divisor is not zero
            continue
        named = where and any(holds(f"b == {value}", point) for value in found.values)
        if where or not equal:
            assert named == equal, point


def test_what_has_no_solution_is_told() -> None:
    with pytest.raises(ShapeError, match="no value of `b`"):
        solution(boxed("True"), "b // 2", "s", "b")


@pytest.mark.parametrize(
    ("implication", "same"),
    [
        ("b > 2 => b > 1", "not b > 2 or b > 1"),
        ("b != 0 => s % b < b", "not b != 0 or s % b < b"),
        ("b > 1 => s > 1 => b > s", "not b > 1 or (not s > 1 or b > s)"),
        ("(b > 1 => s > 1) and b > 0", "(not b > 1 or s > 1) and b > 0"),
        ("s // b > 1 => b > 0", "not s // b > 1 or b > 0"),
    ],
)
def test_an_implication_is_a_disjunction(implication: str, same: str) -> None:
    """The disjunction has the same truth, and is defined where Python would evaluate it."""
    env = boxed("True")
    assert env.parse(implication) == env.parse(same)
