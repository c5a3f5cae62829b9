"""Conversion to sympy and back is exact, and what has no exact integer form is refused by name."""

from __future__ import annotations

import contextvars
import random
import subprocess
import sys

import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.errors import NotExpressible
from solver.interop.sympy import factor, from_sympy, names_of, to_sympy
from solver.syntax.parser import Parsed, ParsedExpr, parse, parse_expr
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.effort import examples
from tests.solver.random_values import some_expression, some_proposition

X, Y, N = sympy.symbols("x y n", integer=True)

READ = [
    (sympy.floor(X / 4), "x // 4"),
    (sympy.ceiling(X / 4), "ceildiv(x, 4)"),
    (sympy.floor((X + Y) / N), "(x + y) // n"),
    (sympy.Mod(X, 4), "x % 4"),
    (sympy.Mod(X, Y), "x % y"),
    (sympy.Mod(X, -4), "x % -4"),
    (sympy.Max(X, Y, 3), "max(x, y, 3)"),
    (sympy.Min(X, Y), "min(x, y)"),
    (sympy.Abs(X), "abs(x)"),
    (sympy.sign(X), "1 if x > 0 else (0 if x == 0 else -1)"),
    (sympy.Piecewise((X, X > 3), (Y, sympy.Eq(X, 0)), (N, True)), "x if x > 3 else (y if x == 0 else n)"),
    (X**2 * Y - 3, "x**2*y - 3"),
    (sympy.Integer(2) ** N, "2**n"),
    (X * (X + 1) / 2 + X / 2 - X**2 / 2, "x"),
    (sympy.floor(sympy.sqrt(X)), "isqrt(x)"),
]
READ_PROPOSITIONS = [
    (X / 2 >= sympy.Rational(7, 3), "3*x >= 14"),
    (sympy.Eq(X, Y), "x == y"),
    (sympy.Ne(X, Y), "x != y"),
    (sympy.And(X > 3, Y < X), "x > 3 and y < x"),
    (sympy.Or(X > 3, sympy.Not(sympy.Eq(Y, 2))), "x > 3 or y != 2"),
    (sympy.Implies(X > 3, Y > 3), "x <= 3 or y > 3"),
    (sympy.sqrt(X) <= Y, "y >= 0 and x <= y*y"),
    (sympy.true, "True"),
]
REFUSED = [
    (X / 2, "x/2"),
    (sympy.sin(X), "sin"),
    (sympy.Float(0.5) * X, "Float"),
    (sympy.pi * X, "pi"),
    (sympy.Symbol("unknown") + 1, "unknown"),
    (sympy.Piecewise((X, X > 3)), "Piecewise"),
    (X**1000, "1000"),
    (sympy.Function("mystery")(X), "mystery"),
    (sympy.log(X), "log"),
]


def names_in(terms: Interner) -> dict[str, Expr]:
    return {name: terms.symbol(name) for name in ("x", "y", "n")}


@pytest.mark.parametrize(("outside", "text"), READ, ids=str)
def test_ordinary_sympy_is_read(outside: sympy.Expr, text: str) -> None:
    """A failure means that an expression from another tool changes its meaning on the way in."""
    terms = Interner()
    names = names_in(terms)
    read = from_sympy(outside, terms, names)
    meant = parse_expr(text, names, terms).expr
    assert isinstance(read, ParsedExpr)
    rng = random.Random(5)
    for _ in range(200):
        values = {atom: rng.randint(-9, 9) for e in names.values() for atom in e.symbols}
        domain = parse_expr(text, names, terms).domain
        if not domain.evaluate(values) or not read.domain.evaluate(values):
            continue
        assert read.expr.evaluate(values) == meant.evaluate(values), values


@pytest.mark.parametrize(("outside", "text"), READ_PROPOSITIONS, ids=str)
def test_ordinary_relations_are_read(outside: sympy.Basic, text: str) -> None:
    """A failure means that a fact from another tool changes its meaning on the way in."""
    terms = Interner()
    names = names_in(terms)
    read = from_sympy(outside, terms, names)
    meant = parse(text, names, terms).prop
    assert isinstance(read, Parsed)
    rng = random.Random(5)
    for _ in range(200):
        values = {atom: rng.randint(-9, 9) for e in names.values() for atom in e.symbols}
        if read.domain.evaluate(values):
            assert read.prop.evaluate(values) == meant.evaluate(values), values


@pytest.mark.parametrize(("outside", "said"), REFUSED, ids=str)
def test_what_is_no_integer_is_refused(outside: sympy.Basic, said: str) -> None:
    """A failure means that something without an exact integer form is taken for something else."""
    terms = Interner()
    with pytest.raises(NotExpressible, match=said):
        from_sympy(outside, terms, names_in(terms))


def test_domains_are_read() -> None:
    """A failure means that a division read from sympy forgets that its divisor is not zero."""
    terms = Interner()
    names = names_in(terms)
    x, y = names["x"], names["y"]
    assert from_sympy(sympy.Mod(X, Y), terms, names).domain is terms.ne(y, 0)
    guarded = from_sympy(sympy.Or(sympy.Eq(Y, 0), sympy.Eq(sympy.Mod(X, Y), 0)), terms, names)
    assert guarded.domain is terms.true
    chosen = from_sympy(sympy.Piecewise((sympy.floor(X / Y), Y > 0), (0, True)), terms, names)
    assert chosen.domain is terms.disjunction([terms.le(y, 0), terms.ne(y, 0)])
    assert from_sympy(sympy.Eq(X, 1), terms, names).prop is terms.eq(x, 1)  # type: ignore[union-attr]


def shape(value: Expr | Prop) -> tuple[object, ...]:
    """The structure without the order of the parts of `and` and `or`, which sympy sorts, nor that of the factors of a
    bitwise or unexpanded product, which goes by what is inside of them, and so by such parts as well."""
    if isinstance(value, Expr):
        monomials = value.interner.monomials
        terms = [(c, *sorted([atom_shape(atom) for atom in monomials[m]], key=repr)) for m, c in value.terms]
        return (value.constant, *sorted(terms, key=repr))
    return (value.kind, shape(value.expr), *sorted([shape(part) for part in value.parts], key=repr))


def atom_shape(atom: Atom) -> tuple[object, ...]:
    shapes = [shape(arg) for arg in atom.args]
    return (atom.kind, atom.name, *(sorted(shapes, key=repr) if atom.kind in ("bitand", "product") else shapes))


@given(st.integers(0, 2**64), st.integers(1, 4))
@example(557754, 3)
@settings(max_examples=examples(150))
def test_expressions_come_back(seed: int, depth: int) -> None:
    """A failure means that an expression is another one after a visit to sympy."""
    terms = Interner()
    symbols = [terms.symbol(name) for name in "wxyz"]
    e = some_expression(terms, symbols, random.Random(seed), depth)
    if len(e.terms) > 60:
        return
    read = from_sympy(to_sympy(e, protected=False), terms, names_of(e))
    assert isinstance(read, ParsedExpr)
    assert shape(read.expr) == shape(e)


@given(st.integers(0, 2**64), st.integers(1, 3))
@settings(max_examples=examples(150))
def test_propositions_come_back(seed: int, depth: int) -> None:
    """A failure means that a proposition says something else after a visit to sympy, which keeps no order of parts."""
    terms = Interner()
    symbols = [terms.symbol(name) for name in "wxyz"]
    rng = random.Random(seed)
    p = some_proposition(terms, symbols, rng, depth)
    if sum(len(part.expr.terms) for part in p.comparisons()) > 60:
        return
    plain = from_sympy(to_sympy(p, protected=False), terms, names_of(p))
    assert isinstance(plain, Parsed)
    assert shape(plain.prop) == shape(p)
    read = from_sympy(to_sympy(p), terms, names_of(p))
    for _ in range(20):
        values = {atom: rng.randint(-6, 6) for e in symbols for atom in e.symbols}
        try:
            expected = p.evaluate(values)
        except OverflowError:
            continue
        assert read.prop.evaluate(values) == expected


@given(st.integers(0, 2**64))
@settings(max_examples=examples(50))
def test_values_agree_in_sympy(seed: int) -> None:
    """A failure means that sympy computes another number from what it was given."""
    terms = Interner()
    symbols = [terms.symbol(name) for name in "xy"]
    rng = random.Random(seed)
    e = some_expression(terms, symbols, rng, 3)
    outside = to_sympy(e)
    for _ in range(5):
        values = {atom: rng.randint(-6, 6) for symbol in symbols for atom in symbol.symbols}
        try:
            expected = e.evaluate(values)
        except OverflowError:
            continue
        there = outside.subs({sympy.Symbol(atom.name, integer=True): value for atom, value in values.items()})
        if there.free_symbols or not there.is_Integer:
            continue  # opaque functions
        assert there == expected, (outside, values)


def test_two_symbols_of_one_name() -> None:
    """A failure means that two sizes with one name become one in sympy."""
    terms = Interner()
    first, second = terms.symbol("u0"), terms.symbol("u0")
    outside = to_sympy(first - second)
    assert len(outside.free_symbols) == 2
    read = from_sympy(outside, terms, names_of(first - second))
    assert isinstance(read, ParsedExpr)
    assert read.expr is first - second


def test_bounds_are_signs() -> None:
    """A failure means that sympy gets a sign that the facts do not imply, or lacks one that they do."""
    terms = Interner()
    s = terms.symbol("s")
    for (lo, hi), signs in {
        (1, None): (True, True),
        (0, 9): (None, True),
        (None, 0): (False, None),
        (None, None): (None, None),
        (-3, 5): (None, None),
    }.items():
        symbol = to_sympy(s, lambda _, lo=lo, hi=hi: (lo, hi))
        assert (symbol.is_positive, symbol.is_nonnegative) == signs, (lo, hi)


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("6*x*y + 6*x", ["6", "x", "y + 1"]),
        ("x**2*y - y", ["x - 1", "x + 1", "y"]),
        ("x**2 + 2*x*y + y**2", ["x + y", "x + y"]),
        ("x + y", ["x + y"]),
        ("x % 4 * y + x % 4", ["y + 1", "x % 4"]),
        ("7", ["7"]),
    ],
)
def test_factors(text: str, factors: list[str]) -> None:
    """A failure means that the factors shown do not multiply to the expression, or that sympy's were lost."""
    terms = Interner()
    names = names_in(terms)
    e = parse_expr(text, names, terms).expr
    found = factor(e)
    product = terms.one
    for part in found:
        product = product * part
    assert product is e
    assert sorted(str(part) for part in found) == sorted(factors)


def test_a_number_that_is_refused_leaves_nothing_in_the_context() -> None:
    """A failure means that a refusal makes the context of decimals, which a trace takes for its program's effect."""
    context = contextvars.Context()
    with pytest.raises(NotExpressible, match="e-5"):
        context.run(from_sympy, sympy.Float(1e-5), Interner(), {})
    assert not list(context)


def test_sympy_is_not_loaded_by_the_core() -> None:
    """A failure means that importing the core costs the half second that sympy takes."""
    code = "import sys, solver.interop.sympy, solver.decide.ladder; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
