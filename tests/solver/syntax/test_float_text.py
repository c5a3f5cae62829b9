"""Floats in text: what is read is what Python would compute, and what is printed is read back as the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from solver.errors import ParseError
from solver.floats import values as floats
from solver.floats.ranges import OVERFLOW
from solver.syntax.parser import parse, parse_expr
from solver.syntax.printer import text_of
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from tests.solver.floats.test_values import (
    COMPARISONS,
    INTEGERS,
    RAISED,
    ROUNDINGS,
    TREES,
    Tree,
    symbolic_value,
    two_symbols,
)

TEXTS = (
    "trunc(0.29*float(s))", "int(s * 0.29)", "floor(s / 2)", "ceil(s / t)", "round(s * 2.5)", "round(-0.5*s + 1)",
    "floor(s**0.5)", "trunc(sqrt(s) * 1e3)", "floor(2*s*0.1 - t*0.3)", "floor(0.1 - s + t)", "ceil(abs(-s * 0.7))",
    "floor((s / 3) // 0.2)", "trunc((s / 3) % 0.7)", "floor(0.5 * s if s > 3 else 1.5)", "round(s / 7 * t / 3)",
    "floor(round(s / 7, 1) * 10)",
    "floor(max(s / 7, t / 3))", "ceil(min(s / t, 2.5, 0.1 * s))", "int(1 / sqrt(t) < 0.4)",
    "int(s / 7 > t / 5)", "floor(s * 0.1 * 3 + 2 * t)", "floor(-s * 0.1 * 3)",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@given(s=st.integers(0, 300), t=st.integers(1, 50))
def test_text_means_what_python_computes(text: str, s: int, t: int) -> None:
    """Read as real arithmetic, 0.29*100 would be 29; Python computes 28."""
    interner = Interner()
    names = {"s": interner.symbol("s"), "t": interner.symbol("t")}
    parsed = parse_expr(text, names, interner)
    values = {names["s"].atom: s, names["t"].atom: t}
    functions = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "sqrt": math.sqrt}
    assert parsed.domain.evaluate(values)
    assert parsed.expr.evaluate(values) == eval(text, functions, {"s": s, "t": t})


@given(TREES, st.sampled_from(sorted(ROUNDINGS)))
@example(("-", ("constant", 1.0), ("*", ("constant", -0.5), ("argument", 0))), "floor")
@example(("negate", ("%", ("argument", 0), ("constant", 3.0))), "floor")
@example(("**", ("negate", ("argument", 0)), ("constant", -2.0)), "floor")
@example(("constant", 1e22), "floor")
def test_printed_roundings_are_read_back(tree: Tree, rounding: str) -> None:
    """A saved session asks the same question again only if its text means the same."""
    symbols, _ = two_symbols()
    try:
        e = ROUNDINGS[rounding][1](symbolic_value(tree, symbols))
    except RAISED:
        return
    assert read_back(e, symbols) is e


@given(TREES, TREES, st.sampled_from(sorted(COMPARISONS)))
def test_printed_comparisons_are_read_back(left: Tree, right: Tree, operation: str) -> None:
    """The same for comparisons, which print as `int(a >= b)` where they are no integers' business."""
    symbols, _ = two_symbols()
    try:
        a, b = symbolic_value(left, symbols), symbolic_value(right, symbols)
        p = floats.compare(operation, a, b)
    except RAISED:
        return
    names = dict(zip("st", symbols))
    assert parse(text_of(p), names, symbols[0].interner).prop is p


def read_back(e: Expr, symbols: list[Expr]) -> Expr:
    return parse_expr(text_of(e), dict(zip("st", symbols)), e.interner).expr


def test_a_recorded_session_reads_quotients() -> None:
    """The format of recorded sessions says that decimals are exact there."""
    interner = Interner()
    s = interner.symbol("s")
    for decimals, value in (("ieee", 28), ("real", 29)):
        e = parse_expr("trunc(0.29*float(s))", {"s": s}, interner, decimals=decimals).expr  # type: ignore[arg-type]
        assert e.evaluate({s.atom: 100}) == value


@given(INTEGERS, st.sampled_from(["floor(s / t)", "floor(sqrt(s))", "floor(s * 1e300 * 1e10)", "trunc(float(s))"]))
def test_the_domain_of_a_text(s: int, text: str) -> None:
    """A check at run time tests the domain first; it must be false exactly where Python raises.

    Only a numerator beyond the doubles is refused even where the quotient would be small enough again.
    """
    assume("/" not in text or abs(s) < OVERFLOW)
    interner = Interner()
    names = {"s": interner.symbol("s"), "t": interner.symbol("t")}
    parsed = parse_expr(text, names, interner)
    for t in (0, 1, -3):
        try:
            eval(text, {"floor": math.floor, "trunc": math.trunc, "sqrt": math.sqrt}, {"s": s, "t": t})
            raises = False
        except RAISED:
            raises = True
        assert parsed.domain.evaluate({names["s"].atom: s, names["t"].atom: t}) != raises


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s / 0 > 1", "zero"),
        ("floor(1.5 << s)", "integer"),
        ("sqrt(-1) > 1", "domain|negative"),
        ("s & 1.5 == 0", "integer"),
    ],
)
def test_errors(text: str, message: str) -> None:
    """A syntax error names its column."""
    interner = Interner()
    with pytest.raises(ParseError, match=message):
        parse(text, {"s": interner.symbol("s")}, interner)


@given(TREES, st.sampled_from(sorted(ROUNDINGS)), st.integers(-50, 50), st.booleans())
@example(("/", ("argument", 0), ("-", ("argument", 1), ("constant", 3.0))), "floor", 3, False)
def test_substitution_goes_through_the_normal_form(tree: Tree, rounding: str, value: int, merge: bool) -> None:
    """A size that becomes a constant, or equal to another, leaves the program that would have been built with it."""
    symbols, (s, t) = two_symbols()
    replaced = [symbols[0], symbols[0] if merge else symbols[0].interner.constant(value)]
    try:
        e = ROUNDINGS[rounding][1](symbolic_value(tree, symbols))
        expected = ROUNDINGS[rounding][1](symbolic_value(tree, replaced))
    except RAISED:
        return
    found = e.substitute({t: replaced[1]})
    values = {s: 7}
    assert found.evaluate(values) == e.evaluate({s: 7, t: 7 if merge else value})
    assert found is expected
