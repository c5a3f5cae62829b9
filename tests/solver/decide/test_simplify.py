"""Simplification: equal under the facts at every sampled size, proven, and short."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.decide.assume import assume
from solver.decide.ladder import decide, decide_within
from solver.decide.simplify import EACH, Simplification, simplify
from solver.decide.verdict import Always, GaveUp, Never
from solver.interop.z3 import Refuted, entails
from solver.knowledge.facts import Conflict, Facts
from solver.syntax.parser import parse, parse_expr
from solver.syntax.printer import Printer, operators, text_of
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from tests.effort import examples, processor_seconds
from tests.solver.random_values import some_expression, some_proposition

Ranges = Mapping[str, tuple[int | None, int | None]]

FREE: Ranges = dict.fromkeys("xyzw", (None, None))
SIZES: Ranges = dict.fromkeys("bhsw", (1, None))
PARTS: Ranges = {"x": (None, None), "y": (0, 31), "z": (0, 3), "i": (0, None), "n": (1, None)}

# ranges, facts, expression, its shortest form
TABLE: list[tuple[Ranges, list[str], str, str]] = [
    # by the bounds of operations
    (PARTS, [], "y//32", "0"),
    (PARTS, [], "y % 64", "y"),
    (PARTS, [], "(32*x + y)//32", "x"),
    (PARTS, [], "(32*x + y) % 32", "y"),
    (PARTS, [], "(128*x + 4*y + z)//512", "x//4"),
    (PARTS, [], "max(y, -1) + min(z, 40)", "y + z"),
    (PARTS, [], "abs(y + 1)", "y + 1"),
    (PARTS, ["i < n"], "(i + n) % n", "i"),
    (PARTS, ["i < n"], "min(i, n - 1)", "i"),
    (PARTS, ["i < n"], "abs(i - n)", "n - i"),
    # by divisibility and equalities
    (SIZES, ["s % 16 == 0"], "s//16*16 + s % 8", "s"),
    (SIZES, ["s % 16 == 0", "s > 0"], "max(s, 12)", "s"),
    (SIZES, ["h == b*s"], "2*b*b*s", "2*b*h"),
    (SIZES, ["b*s == h*w", "w == 2*s"], "b*s//w", "h"),
    (SIZES, ["b*s == h*w", "w == 2*s"], "b - 2*h", "0"),
    (SIZES, ["w == 4"], "b*w//2", "2*b"),
    # by identities
    (FREE, [], "x//4 + (x + 1)//4 + (x + 2)//4 + (x + 3)//4", "x"),
    (FREE, [], "x % 2 + (x + 1) % 2", "1"),
    (FREE, [], "min(x, y)*max(x, y)", "x*y"),
    (FREE, [], "abs(x)*abs(x)", "x**2"),
    (FREE, [], "max(x//4*4, x)", "x"),
    (FREE, [], "min(max(y, x), max(y, z))", "max(y, min(x, z))"),
    (FREE, [], "max(max(x, 1), 10)", "max(x, 10)"),
    (FREE, [], "min(x//10, y//10)", "min(x, y)//10"),
    (FREE, [], "x % 8 // 8", "0"),
    # by conditions
    (FREE, [], "(x if x > 3 else 7) if x > 5 else 0", "x if x >= 6 else 0"),
    (FREE, [], "(y if x < 0 else 0) + (1 if x < 0 else z)", "y + 1 if x < 0 else z"),
    (FREE, [], "x if x == 5 else 5", "5"),
    (FREE, ["x > 0"], "x if x >= 0 else y", "x"),
]


def known(ranges: Ranges, facts: list[str]) -> tuple[Interner, dict[str, Expr], Facts]:
    terms = Interner()
    names = {name: terms.symbol(name) for name in ranges}
    state = Facts.empty(terms)
    for name, (lo, hi) in ranges.items():
        state = state.declare_range(names[name], lo, hi)
    for text in facts:
        parsed = parse(text, names, terms)
        state = state.learn_prop(parsed.prop, parsed.domain)
    return terms, names, state


@pytest.mark.parametrize(("ranges", "facts", "text", "short"), TABLE)
def test_the_shortest_form(ranges: Ranges, facts: list[str], text: str, short: str) -> None:
    """A failure means that people read more than the facts leave of an expression, or something else."""
    terms, names, state = known(ranges, facts)
    parsed = parse_expr(text, names, terms)
    simple = simplify(state, parsed.expr, domain=parsed.domain)
    assert text_of(simple) == short
    props = [fact.prop for fact in state.records()]
    assert not isinstance(entails([*props, parsed.domain], terms.eq(simple, parsed.expr)), Refuted)


@given(st.integers(0, 2**64), st.integers(1, 3))
@settings(max_examples=examples(60), deadline=None)
def test_equal_at_all_small_sizes(seed: int, depth: int) -> None:
    """A failure means that a simplified expression is another number at some sizes: a wrong program."""
    terms = Interner()
    rng = random.Random(seed)
    symbols = [terms.symbol(name) for name in "xyz"]
    state = Facts.empty(terms)
    for symbol in symbols:
        lo = rng.choice([-3, 0, 1])
        state = state.declare_range(symbol, lo, rng.choice([None, lo + 7]))
    fact = some_proposition(terms, symbols, rng, 1)
    assumed = assume(state, state.next_fact(fact))
    if not isinstance(assumed, Conflict) and not isinstance(decide(state, fact), Never) and assumed.samples.alive:
        state = assumed
    e = some_expression(terms, symbols, rng, depth)
    simple = simplify(state, e, solvers=False)
    assert operators(simple) <= operators(e)
    divisors = [atom.args[1] for atom in e.schedule if atom.kind == "floordiv"]
    for sizes in itertools.product(range(-3, 9, 2), repeat=3):
        values: dict[Atom, int] = {symbol.atom: size for symbol, size in zip(symbols, sizes, strict=True)}
        try:
            if not state.holds_at(values) or any(isinstance(d, Expr) and d.evaluate(values) == 0 for d in divisors):
                continue
            assert simple.evaluate(values) == e.evaluate(values), (sizes, e, simple)
        except OverflowError:
            continue


def test_a_divisor_that_may_be_zero() -> None:
    """A failure means that an expression is simplified where it has no value, without being told so."""
    terms, names, state = known(FREE, [])
    parsed = parse_expr("x*y//y", names, terms)
    assert simplify(state, parsed.expr, domain=parsed.domain) is names["x"]
    chosen = parse_expr("x//y if y > 0 else 0", names, terms)
    assert simplify(state, chosen.expr, domain=chosen.domain) is chosen.expr


@pytest.mark.parametrize("case", ["max", "remainder", "quotient", "conditional", "sum"])
def test_large_expressions_end(case: str) -> None:
    """A failure means that simplifying a large expression takes minutes."""
    terms = Interner()
    x = terms.symbol("x")
    many = [terms.symbol(f"s{i}") for i in range(40)]
    state = Facts.empty(terms)
    for symbol in (x, *many):
        state = state.declare_range(symbol, 0, None)
    e = x
    for i, symbol in enumerate(many):
        match case:
            case "max":
                e = terms.maximum(e, symbol - i)
            case "remainder":
                e = terms.mod(e + symbol, i + 2)
            case "quotient":
                e = terms.floordiv(e * 3 + i, 7) + symbol
            case "conditional":
                e = terms.ite(terms.ge(x, symbol + i * i), e, i)
            case _:
                e = e + terms.maximum(symbol, x - 3) // 4
    with processor_seconds(200):
        simple = simplify(state, e)
    assert operators(simple) <= operators(e)


@pytest.mark.parametrize("count", [4, 8, 24])
def test_candidates_are_printed_within_a_budget(count: int) -> None:
    """Candidates are printed within a budget, however deep quotients are nested."""
    terms = Interner()
    x = terms.symbol("x")
    facts = Facts.empty(terms).declare_range(x, 0, None)
    e = x
    for _ in range(count):
        e = e // 2 + e % 3
    simplification = Simplification(facts, None, solvers=False)
    assert simplification.expression(e).symbols == {x.atom}
    assert simplification.budget.spelling >= -5 * EACH  # the last text may cost more than it was allowed


def test_estimates_of_operators_are_low() -> None:
    """A failure means that short candidates are left out, because they look longer than what they replace."""
    rng = random.Random(3)
    terms = Interner()
    symbols = [terms.symbol(name) for name in "xyz"]
    for depth in (1, 2) * 150:
        e = some_expression(terms, symbols, rng, depth)
        assert Printer(terms).estimated(e)[0] <= operators(e), e


def test_an_attempt_with_little_work_leaves_no_mark() -> None:
    """A failure means that a question is given up because a simplification once spent too little on it."""
    terms, names, state = known(SIZES, ["b*h <= 1000", "s <= b"])
    goal = terms.le(names["h"] * names["s"], 1000)
    verdict, _ = decide_within(state, goal, terms.true, effort="default", work=1)
    assert isinstance(verdict, GaveUp)
    assert isinstance(decide(state, goal, effort="default", solvers=False), Always)
