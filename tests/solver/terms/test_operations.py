"""Each row of the table of operations against brute force: values, bounds, laws, domains, texts and other systems."""

from __future__ import annotations

from itertools import product

import pytest

from shapes import Always, Depends, ShapeEnv
from solver.interop import smtlib
from solver.interop.sympy import from_sympy, names_of, to_sympy
from solver.interop.z3 import Proved, entails
from solver.proofs.checker import RULES
from solver.proofs.inference import Wrong
from solver.proofs.step import ProofStep, hypothesis
from solver.syntax.parser import parse_expr
from solver.terms.atoms import stated
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.operations import ATOMS, DERIVED, FUNCTIONS, Operation

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
    domain = value.interner.domain(row, symbols)
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
    premises, conclusion = stated(law, value.atom)
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
    premises, conclusion = stated(law, value.atom)
    for premise in premises or [value.interner.true]:
        assert isinstance(entails([premise], conclusion), Proved)


@pytest.mark.parametrize("row", NUMERIC, ids=named)
def test_texts_and_other_systems_are_read_back(row: Operation) -> None:
    symbols, value = applied(row)
    terms, names = value.interner, names_of(value)
    assert parse_expr(str(value), names, terms).expr is value
    assert from_sympy(to_sympy(value), terms, names).expr is value
    text = smtlib.question([terms.domain(row, symbols)], terms.ge(value, 3))
    read = smtlib.read(text, terms, names).assertions[-1].prop
    assert read is terms.lt(value, 3)


def test_operands_of_functions_must_fit_too() -> None:
    """The product is computed before the root of it."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("b", lo=1, hi=2**20)
    assert isinstance(env.fits("isqrt(b * b)", 32), Depends)
    assert isinstance(env.fits("isqrt(b * b)", 42), Always)
