"""Random questions as text, and Python itself as the oracle.

A `Case` is some symbols with small bounds, facts and a question, all as text. Python's `eval` says what is true at each
point of the box, so that the parser, the normal form, the facts and the rungs are tested against something that shares
no code with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from hypothesis import strategies as st

from solver.decide.assume import assume
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.syntax.parser import parse
from solver.terms.expr import Expr
from solver.terms.interner import Interner

NAMES = ("x", "y", "z")
WORDS = {"ceildiv": lambda a, b: -(-a // b), "min": min, "max": max, "abs": abs}


@dataclass(frozen=True)
class Case:
    """Symbols with inclusive bounds, facts in order, and a question."""

    bounds: tuple[tuple[int, int], ...]
    facts: tuple[str, ...]
    question: str

    def points(self) -> Iterator[dict[str, int]]:
        """The points of the box where the facts hold."""
        codes = [compiled(fact) for fact in self.facts]
        for values in itertools.product(*[range(lo, hi + 1) for lo, hi in self.bounds]):
            point = dict(zip(NAMES, values, strict=False))
            if all(truth(code, point) for code in codes):
                yield point

    def truths(self) -> set[bool]:
        """The truth values of the question at those points; undefined ones are left out."""
        code = compiled(self.question)
        return {value for point in self.points() if (value := truth(code, point)) is not None}


@lru_cache(maxsize=4096)
def compiled(text: str) -> CodeType:
    return compile(text, "<question>", "eval")


def truth(code: CodeType, point: dict[str, int]) -> bool | None:
    """Python's own answer at a point; None where it divides by zero."""
    try:
        return bool(eval(code, dict(WORDS), point))
    except ZeroDivisionError:
        return None


def known(case: Case, *, bounded: bool = True) -> tuple[Facts, dict[str, Expr]] | None:
    """The facts of a case; None when they contradict each other (then there must be no point)."""
    interner = Interner()
    names = {name: interner.symbol(name) for name in NAMES[: len(case.bounds)]}
    facts = Facts.empty(interner)
    for (lo, hi), symbol in zip(case.bounds, names.values(), strict=True):
        least, most = (lo, hi) if bounded else (lo, None)
        declared = facts.declare(
            symbol, least, most, facts.next_fact(range_prop(symbol, least, most), kind="range", text=str(symbol))
        )
        assert isinstance(declared, Facts)
        facts = declared
    for text in case.facts:
        parsed = parse(text, names, interner)
        extended = assume(facts, facts.next_fact(parsed.prop, domain=parsed.domain, text=text))
        if isinstance(extended, Conflict):
            return None
        facts = extended
    return facts, names


def constants() -> st.SearchStrategy[str]:
    return st.integers(-4, 9).map(lambda n: str(n) if n >= 0 else f"({n})")


def expressions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Integer expressions over the names."""
    leaves = st.one_of(st.sampled_from(names), st.sampled_from(names), constants())
    divisors = st.one_of(st.integers(2, 6).map(str), st.sampled_from(names), st.just("(-3)"))

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(("+", "-", "*")), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            st.tuples(inner, st.sampled_from(("//", "%")), divisors).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            st.tuples(st.sampled_from(("min", "max", "ceildiv")), inner, st.one_of(inner, divisors)).map(
                lambda p: f"{p[0]}({p[1]}, {p[2] if p[0] != 'ceildiv' else '3'})"
            ),
            inner.map(lambda e: f"abs({e})"),
            st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} >= 2 else {p[2]})"),
        )

    return st.recursive(leaves, extend, max_leaves=6)


def comparisons(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    sides = expressions(names)
    return st.tuples(sides, st.sampled_from(("==", "!=", "<", "<=", ">", ">=")), st.one_of(sides, constants())).map(
        lambda p: f"{p[0]} {p[1]} {p[2]}"
    )


def propositions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    single = comparisons(names)
    return st.one_of(
        single,
        single,
        single,
        st.tuples(single, st.sampled_from(("and", "or")), single).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        single.map(lambda p: f"not ({p})"),
    )


@st.composite
def cases(draw: st.DrawFn, symbols: int = 3, facts: int = 3) -> Case:
    count = draw(st.integers(1, symbols))
    names = NAMES[:count]
    bounds = tuple((lo, lo + draw(st.integers(0, 6))) for lo in (draw(st.integers(-3, 4)) for _ in range(count)))
    given = tuple(draw(st.lists(propositions(names), max_size=facts)))
    return Case(bounds, given, draw(propositions(names)))
