"""Integer forms of roundings of doubles, against Python, near every limit where they stop to hold."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from solver.decide.ladder import decide
from solver.decide.verdict import Always, Never
from solver.floats.exact import exact_form
from solver.knowledge.facts import Facts
from solver.syntax.parser import parse, parse_expr
from solver.terms.interner import Interner
from tests.solver.floats.test_values import RAISED, ROUNDINGS, TREES, Tree, symbolic_value, two_symbols, values

NEAR = st.sampled_from([2**51, 2**52, 2**53, 2**54]).flatmap(lambda n: st.integers(n - 40, n + 40))
SIZES = st.integers(-300, 300) | NEAR | NEAR.map(lambda n: -n)
DIVISORS = st.integers(-9, 9) | st.integers(2**20, 2**40) | NEAR
DYADIC = (
    "floor(s * 0.5)", "ceil(s * 0.75 + t)", "trunc(s / 2)", "round(s / 2)", "round(s * 0.25 - 1.5)", "trunc(-s * 2.5)",
    "ceil(s / 7)", "floor(s / t)", "ceil(s / t)", "round(s / 6)", "trunc(s / -3)", "floor((s * 0.5) / 8.0)",
    "round(float(s) / 0.25)", "int(s * 0.5 >= t * 0.25)", "int(s * 0.5 == t * 1.0)", "int(s * 1.5 > float(t))",
)  # fmt: skip


@pytest.mark.parametrize("text", DYADIC)
@given(s=SIZES, t=DIVISORS)
@example(s=2**53 - 1, t=2**53 - 2)
@example(s=2**53 + 1, t=2**53)
def test_the_form_is_the_value(text: str, s: int, t: int) -> None:
    """The engine replaces the rounding by the form: a wrong limit is a wrong proof for large sizes only."""
    interner = Interner()
    names = {"s": interner.symbol("s"), "t": interner.symbol("t")}
    e = parse_expr(text, names, interner).expr
    found = exact_form(e.atom)
    assert found is not None
    form, limits = found
    at = {names["s"].atom: s, names["t"].atom: t}
    if all(limit.evaluate(at) for limit in limits):
        assert form.evaluate(at) == e.evaluate(at)
    else:
        assert max(abs(s), abs(t)) > 2**48 or t == 0


@given(TREES, st.sampled_from(sorted(ROUNDINGS)), SIZES, DIVISORS)
def test_forms_of_random_programs(tree: Tree, rounding: str, s: int, t: int) -> None:
    """The same for programs that nobody thought of; most have no form."""
    symbols, atoms = two_symbols()
    try:
        e = ROUNDINGS[rounding][1](symbolic_value(tree, symbols))
    except RAISED:
        return
    assume(len(e.terms) == 1)
    found = exact_form(e.atom)
    at = values(atoms, (s, t))
    if found is not None and all(limit.evaluate(at) for limit in found[1]):
        assert found[0].evaluate(at) == e.evaluate(at)


@pytest.mark.parametrize("text", ["trunc(0.29*float(s))", "floor(sqrt(s))", "trunc(s / t)", "floor(s / 3 + 0.5)"])
def test_what_rounds_has_no_form(text: str) -> None:
    """Real arithmetic says 29 where Python says 28."""
    interner = Interner()
    names = {"s": interner.symbol("s"), "t": interner.symbol("t")}
    found = exact_form(parse_expr(text, names, interner).expr.atom)
    assert found is None or not all(limit.evaluate({names["s"].atom: 100}) for limit in found[1])


@pytest.mark.parametrize(
    ("text", "hi", "verdict"),
    [
        ("ceil(s / 2) == (s + 1) // 2", 2**53 - 1, Always),
        ("ceil(s / 2) == (s + 1) // 2", 2**53 + 9, None),
        ("2 * round(s / 2) <= s + 1", 2**31, Always),
        ("t * floor(s / t) <= s", 2**31, Always),
        ("int(s * 0.5) > s", 2**31, Never),
    ],
)
def test_the_engine_uses_the_form(text: str, hi: int, verdict: type[Always] | type[Never] | None) -> None:
    """Up to 2**53 the answer is that of integers, with a certificate; beyond it doubles round."""
    interner = Interner()
    s, t = interner.symbol("s"), interner.symbol("t")
    facts = Facts.empty(interner).declare_range(s, 0, hi).declare_range(t, 1, hi)
    parsed = parse(text, {"s": s, "t": t}, interner)
    found = decide(facts, parsed.prop, domain=parsed.domain, solvers=False)
    if verdict is None:
        assert not isinstance(found, Always)  # at s == 2**53 + 1 it is false
        assert not parsed.prop.evaluate({s.atom: 2**53 + 1, t.atom: 1})
    else:
        assert isinstance(found, verdict) and found.check()
