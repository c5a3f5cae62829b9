"""Small problems with an oracle: symbols in a box, facts, and a question, all as text; Python evaluates every point.

    >>> from shapes.testing.conformance.cases import Case
    >>> case = Case({"a": (0, 9), "b": (1, 3)}, ("a % 4 == 0",), "a // b <= a")
    >>> len(list(case.points())), case.truths()
    (9, {True})

A fact that divides by zero somewhere does not hold there; a question that does is undefined there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Final

from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.testing.strategies import NAMES, propositions

WORDS: Final = {"ceildiv": lambda a, b: -(-a // b), "min": min, "max": max, "abs": abs}


@dataclass(frozen=True)
class Case:
    """Symbols with inclusive bounds, facts in order, and a question."""

    bounds: Mapping[str, tuple[int, int]]
    facts: tuple[str, ...]
    question: str

    def points(self) -> Iterator[dict[str, int]]:
        """The points of the box where the facts hold."""
        for values in itertools.product(*[range(lo, hi + 1) for lo, hi in self.bounds.values()]):
            point = dict(zip(self.bounds, values, strict=True))
            if all(value(fact, point) for fact in self.facts):
                yield point

    def truths(self) -> set[bool]:
        """The truth values of the question at those points."""
        found = [value(self.question, point) for point in self.points()]
        return {bool(truth) for truth in found if truth is not None}


@lru_cache(maxsize=4096)
def compiled(text: str) -> CodeType:
    return compile(text, "<proposition>", "eval")


def value(text: str, point: Mapping[str, int]) -> int | None:
    """Python's own value of a text at a point; None where it divides by zero."""
    try:
        return int(eval(compiled(text), dict(WORDS), dict(point)))
    except ZeroDivisionError:
        return None


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random ones."""
    bounds = {}
    for name in NAMES[: draw(st.integers(1, 3))]:
        low = draw(st.integers(-3, 4))
        bounds[name] = (low, low + draw(st.integers(0, 6)))
    env = ShapeEnv(origin=lambda: None)
    for name in bounds:
        env.symbol(name)
    facts = draw(st.lists(propositions(env, depth=1), max_size=3))
    return Case(bounds, tuple(facts), draw(propositions(env)))


BIG: Final = 2**63

CASES: Final = (
    (Case({"a": (0, 9)}, (), "a >= 0"), "always"),
    (Case({"a": (0, 9)}, (), "a > 9"), "never"),
    (Case({"a": (0, 9)}, (), "a == 9"), "open"),
    (Case({"a": (-9, 9)}, (), "(a // 2) * 2 + a % 2 == a"), "always"),
    (Case({"a": (-9, -1)}, (), "a // 2 >= 0"), "never"),
    (Case({"a": (-9, 9)}, (), "a % 4 >= 0"), "always"),
    (Case({"a": (-9, 9)}, (), "a % -4 <= 0"), "always"),
    (Case({"a": (0, 40)}, ("a % 16 == 0",), "a % 8 == 0"), "always"),
    (Case({"a": (0, 40)}, ("a % 16 == 4",), "a % 8 == 0"), "never"),
    (Case({"a": (0, 40)}, ("a % 6 == 0", "a % 4 == 0"), "a % 12 == 0"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("a <= b", "b <= a"), "a == b"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("a < b",), "a + 1 <= b"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("2*a == 2*b + 1",), "a == b"), "contradiction"),
    (Case({"a": (1, 9), "b": (1, 9)}, (), "a * b >= a"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, (), "a * b >= a"), "open"),
    (Case({"a": (0, 9), "b": (1, 9)}, (), "(a * b) // b == a"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("max(a, b) <= 4",), "a <= 4 and b <= 4"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("a == 3 or b == 3", "a != 3"), "b == 3"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("not (a < 5)",), "a >= 5"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("b == (a if a >= 5 else 5)",), "b >= 5"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("a + b == 9",), "a - b != 0"), "always"),
    (Case({"a": (1, 9), "b": (1, 9)}, ("a % b == 0",), "a >= b"), "always"),
    (Case({"a": (0, 9), "b": (0, 9)}, ("a >= 3", "a <= 2"), "b == 0"), "contradiction"),
)
"""Cases that an environment should decide. "open" has witnesses for both; a stronger answer than the right one is an
error.
"""
