"""Each row of the table of operations against brute force: values, bounds, laws, domains, texts and other systems."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
import z3

from shapes import Always, Depends, Never, ShapeEnv, sym_gcd
from solver.interop import smtlib
from solver.interop.sympy import from_sympy, names_of, to_sympy
from solver.interop.z3 import Proved, entails
from solver.proofs.checker import RULES
from solver.proofs.inference import Wrong
from solver.proofs.step import ProofStep, hypothesis
from solver.syntax.parser import parse_expr
from solver.terms.atoms import conclusion_of, conditions_of, domain_of
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.operations import ATOMS, DERIVED, FUNCTIONS, Operation
from solver.terms.prop import Prop

NEAR = range(-7, 8)
NUMERIC = [row for row in (*ATOMS, *DERIVED, *FUNCTIONS) if row.name not in ("ite", "select")]
OF_ATOMS = [row for row in NUMERIC if row not in DERIVED]


def applied(row: Operation) -> tuple[list[Expr], Expr]:
    """Symbols, and the operation of them."""
    terms = Interner()
    symbols = [terms.symbol(name) for name in "abc"[: row.arity]]
    return symbols, terms.apply(row, *symbols)


def named(row: Operation) -> str:
    return row.name


@pytest.mark.parametrize("row", NUMERIC, ids=named)
def test_the_normal_form_has_the_value_of_the_row(row: Operation) -> None:
    symbols, value = applied(row)
    domain = domain_of(value.interner, row, symbols)
    seen = 0
    for point in product(NEAR, repeat=row.arity):
        values = {symbol.atom: x for symbol, x in zip(symbols, point, strict=True)}
        inside = all(point[i] >= 0 for i in row.nonnegative) and all(point[i] for i in row.nonzero)
        assert domain.evaluate(values) == inside
        if inside:
            seen += 1
            assert value.evaluate(values) == row.evaluate(*point)
            constants = [value.interner.constant(x) for x in point]
            assert value.interner.apply(row, *constants) is value.interner.constant(row.evaluate(*point))
    assert seen >= 8


@pytest.mark.parametrize("row", OF_ATOMS, ids=named)
def test_bounds_hold_for_all_arguments_in_them(row: Operation) -> None:
    ends = (None, -6, -1, 0, 1, 2, 5)
    intervals = [(lo, hi) for lo in ends for hi in ends if lo is None or hi is None or lo <= hi]
    for chosen in product(intervals, repeat=row.arity):
        lo, hi = row.bounds(*chosen)
        if lo is None and hi is None:
            continue
        sides = [[x for x in NEAR if (a is None or x >= a) and (b is None or x <= b)] for a, b in chosen]
        for point in product(*sides):
            if all(point[i] >= 0 for i in row.nonnegative) and all(point[i] for i in row.nonzero):
                value = row.evaluate(*point)
                assert (lo is None or lo <= value) and (hi is None or value <= hi), (chosen, point, (lo, hi))


LAWS = [(row, law.name) for row in OF_ATOMS for law in row.laws]


@pytest.mark.parametrize(("row", "name"), LAWS, ids=[f"{row.name} {name}" for row, name in LAWS])
def test_laws_hold_and_are_checked(row: Operation, name: str) -> None:
    symbols, value = applied(row)
    (law,) = [law for law in row.laws if law.name == name]
    premises = [Prop.nonnegative(e) for e in conditions_of(law, value.atom)]
    conclusion = conclusion_of(law, value.atom)
    applies = 0
    for point in product(NEAR, repeat=row.arity):
        values = {symbol.atom: x for symbol, x in zip(symbols, point, strict=True)}
        if not premises or any(p.evaluate(values) for p in premises):
            applies += 1
            assert conclusion.evaluate(values)
    assert applies >= 8
    # a step is accepted for what the law says, and not without the premise
    for premise in premises:
        assert RULES["axiom"](ProofStep("axiom", conclusion, (hypothesis(premise),), (value.atom, name))) is conclusion
    bare = ProofStep("axiom", conclusion, (), (value.atom, name))
    if premises:
        with pytest.raises(Wrong):
            RULES["axiom"](bare)
    else:
        assert RULES["axiom"](bare) is conclusion


@pytest.mark.parametrize(("row", "name"), LAWS, ids=[f"{row.name} {name}" for row, name in LAWS])
def test_z3_knows_the_laws(row: Operation, name: str) -> None:
    _, value = applied(row)
    (law,) = [law for law in row.laws if law.name == name]
    if law.divides:
        # z3 has a multiple, which it does not find to be what rounding down gives: half of the statement
        multiple = law.conclusion(value, *value.atom.args)
        assert isinstance(multiple, Expr)
        facts = [value.interner.ge(value, 7), value.interner.le(multiple, 6), value.interner.ge(multiple, 1)]
        assert isinstance(entails(facts, value.interner.false), Proved)
        return
    premises = [Prop.nonnegative(e) for e in conditions_of(law, value.atom)]
    conclusion = conclusion_of(law, value.atom)
    for premise in premises or [value.interner.true]:
        assert isinstance(entails([premise], conclusion), Proved)


@pytest.mark.parametrize("row", NUMERIC, ids=named)
def test_texts_and_other_systems_are_read_back(row: Operation) -> None:
    symbols, value = applied(row)
    terms, names = value.interner, names_of(value)
    assert parse_expr(str(value), names, terms).expr is value
    assert from_sympy(to_sympy(value, protected=False), terms, names).expr is value
    text = smtlib.question([domain_of(terms, row, symbols)], terms.ge(value, 3))
    read = smtlib.read(text, terms, names).assertions[-1].prop
    expected = terms.lt(value, 3)
    for sizes in product(range(-2, 4), repeat=len(symbols)):
        values = {symbol.atom: size for symbol, size in zip(symbols, sizes, strict=True)}
        assert read.evaluate(values) == expected.evaluate(values)


@pytest.mark.parametrize("row", [row for row in NUMERIC if row.name not in ("mod", "floordiv")], ids=named)
def test_a_symbol_may_have_the_name_of_an_operation(row: Operation) -> None:
    """The name of an operation that came later must not take that of somebody's size: before brackets it is a call."""
    symbols, value = applied(row)
    terms = value.interner
    symbol = terms.symbol(row.name)
    both = value + symbol
    assert parse_expr(str(both), names_of(both), terms).expr is both
    assert isinstance(parse_expr(row.name, names_of(both), terms).expr, Expr)
    text = smtlib.question([domain_of(terms, row, symbols), terms.ge(symbol, 0)], terms.ge(both, 3))
    z3.Solver(ctx=z3.Context()).from_string(text)


def test_operands_of_functions_must_fit_too() -> None:
    """The product is computed before the root of it."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("b", lo=1, hi=2**20)
    assert isinstance(env.fits("isqrt(b * b)", 32), Depends)
    assert isinstance(env.fits("isqrt(b * b)", 42), Always)
    env.symbol("least", lo=-(2**31), hi=0)
    assert isinstance(env.fits("gcd(least, 0)", 32), Depends)
    assert isinstance(env.fits("gcd(least, 6)", 33), Always)


def test_normal_forms_of_gcd() -> None:
    terms = Interner()
    a, b = terms.symbol("a"), terms.symbol("b")
    divisor = terms.gcd(a, b)
    assert divisor is terms.gcd(b, a) is terms.gcd(-a, b) is terms.gcd(a, -b)
    assert terms.gcd(6 * a, -9 * b) is 3 * terms.gcd(2 * a, 3 * b)
    assert terms.gcd(a, 0) is terms.gcd(a, a) is terms.gcd(-a, a) is terms.gcd(a, a * b) is terms.absolute(a)
    assert terms.gcd(a * (b + 1), b + 1) is terms.absolute(b + 1)
    assert terms.gcd(a * b, a * (b + 1)).evaluate({a.atom: -6, b.atom: 4}) == 6
    assert terms.gcd(8 * a + 5, 8) is terms.gcd(a, 1) is terms.one
    assert terms.gcd(12 * a + 7 * b, 6) is terms.gcd(b, 6)
    assert terms.rebuild("function", "gcd", divisor.atom.args) is divisor
    rng = random.Random(3)
    for _ in range(400):
        p, q = ([rng.choice((0, 1, -1, 2, -3, 4, 6, -6)) for _ in range(4)] for _ in range(2))
        e, f = (k * a + m * b + n * a * b + c for k, m, n, c in (p, q))
        made = terms.gcd(e, f)
        for x, y in product((-5, -1, 0, 2, 3), repeat=2):
            at = {a.atom: x, b.atom: y}
            assert made.evaluate(at) == math.gcd(e.evaluate(at), f.evaluate(at)), (str(e), str(f), at)


def test_questions_about_gcd() -> None:
    env = ShapeEnv(origin=lambda: None)
    b, s = env.symbol("b", lo=1, hi=100), env.symbol("s", lo=1)
    for question in (
        "gcd(b, s) >= 1",
        "gcd(b, s) <= b",
        "gcd(b, s) <= 100",
        "b % gcd(b, s) == 0",
        "s % gcd(s, b) == 0",
        "s // gcd(b, s) * gcd(s, b) == s",
        "gcd(2*b, 2*s) == 2*gcd(b, s)",
        "gcd(b, 0) == b",
        "gcd(b, s, 4) <= 4",
    ):
        verdict = env.ask(question)
        assert isinstance(verdict, Always) and verdict.check(), question
    assert isinstance(env.ask("gcd(b, s) > 100"), Never)
    answer = env.ask("gcd(b, s) == 7")
    assert isinstance(answer, Depends)
    assert math.gcd(answer.true_at["b"], answer.true_at["s"]) == 7
    assert sym_gcd(b, s) is sym_gcd(s, b) and sym_gcd(12, 18, 27) == 3 and sym_gcd(-4) == 4
    assert str(sym_gcd(4 * b, 6 * s)) == str(env.parse_expr("gcd(6*s, 4*b)")[0])
