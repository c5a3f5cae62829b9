"""Floats of sympy are the doubles that Python computes, or they are refused."""

from __future__ import annotations

import math

import pytest
import sympy
from hypothesis import example, given, reject
from hypothesis import strategies as st

from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.interop.sympy import from_sympy
from solver.interop.sympy_floats import FloatReading
from solver.syntax.parser import Parsed, ParsedExpr, parse
from solver.terms.interner import Interner

X, Y = sympy.symbols("x y", integer=True)
HALF = sympy.Rational(1, 2)

READ = [
    (0.29 * X >= 28.5, "x >= 99"),
    (sympy.Eq(sympy.floor(0.29 * X), Y), "floor(0.29*float(x)) == y"),
    (sympy.ceiling(X * sympy.Float(1.5)) > 4, "ceil(1.5*float(x)) > 4"),
    (sympy.sqrt(X + 0.5) < 3.5, "sqrt(float(x) + 0.5) < 3.5"),
    (sympy.Abs(X + 0.5) > Y, "abs(float(x) + 0.5) > y"),
    (sympy.And(0.5 * X > 1, Y > 2), "0.5*float(x) > 1 and y > 2"),
]
REFUSED = [
    (0.5 * X, "need not be an integer"),
    (sympy.Float(0.1) + X + Y >= 1, "not one operation on floats"),
    (sympy.Float("0.1", 30) * X >= 1, "no exact integer form"),
    (sympy.Float(2.0) ** 2000 >= X, "no exact integer form"),
    (sympy.Piecewise((0.5 * X, X > 3), (sympy.Float(1.0), True)) >= 1, "no exact integer form"),
    (sympy.sin(X * 0.5) >= 0, "not one operation on floats"),
    (sympy.Eq(X / 2 + 0.5, 1), "no exact integer form"),
    (sympy.Mod(0.5 * X, 2) > 1, "not one operation on floats"),
    (sympy.nan, "nan"),
]


@pytest.mark.parametrize(("outside", "text"), READ, ids=str)
def test_floats_are_read(outside: sympy.Basic, text: str) -> None:
    """A failure means that a float of another tool changes its meaning on the way in."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in ("x", "y")}
    found, meant = from_sympy(outside, terms, names, floats=True), parse(text, names, terms)
    assert isinstance(found, Parsed)
    for x in range(-3, 110):
        values = {names["x"].atom: x, names["y"].atom: 28}
        assert found.domain.evaluate(values) == meant.domain.evaluate(values)
        if meant.domain.evaluate(values):
            assert found.prop.evaluate(values) == meant.prop.evaluate(values)


@pytest.mark.parametrize(("outside", "why"), REFUSED, ids=str)
def test_floats_without_an_exact_form_are_refused(outside: sympy.Basic, why: str) -> None:
    """A failure means that a float has a value that Python need not compute."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in ("x", "y")}
    with pytest.raises(NotExpressible, match=why):
        from_sympy(outside, terms, names, floats=True)


@pytest.mark.parametrize("outside", [outside for outside, _ in READ], ids=str)
def test_floats_are_refused_unless_asked_for(outside: sympy.Basic) -> None:
    """A failure means that a real number of sympy is taken for a double."""
    terms = Interner()
    with pytest.raises(NotExpressible):
        from_sympy(outside, terms, {name: terms.symbol(name) for name in ("x", "y")})


def test_names_may_be_floats() -> None:
    """A failure means that a float of the program can not be read by its name."""
    terms = Interner()
    u = floats.from_pattern(terms.symbol("u"))
    prop, _ = FloatReading(terms, {"u": u}).read(sympy.Symbol("u") + 1.0 > 3.5)
    assert prop is floats.compare(">", u, floats.constant(terms, 2.5))
    infinite, _ = FloatReading(terms, {}).read(-sympy.oo)
    assert isinstance(infinite, floats.Float) and infinite.value == -math.inf


NUMBERS = st.one_of(
    st.sampled_from([X, Y]),
    st.integers(-5, 5).map(sympy.Integer),
    st.sampled_from([0.1, 0.29, 0.5, 1.5, -2.75, 3.0, 1e300, 1e-300, 2.0**53]).map(sympy.Float),
)
OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    sympy.Max,
    sympy.Min,
    lambda a, b: sympy.Abs(a) + b,
    lambda a, b: sympy.floor(a) * b,
    lambda a, b: sympy.ceiling(a) - b,
    lambda a, b: sympy.sqrt(a) + b,
    lambda a, b: sympy.Pow(a, 2) * b,
]


@st.composite
def operations(draw: st.DrawFn, operands: st.SearchStrategy[sympy.Expr]) -> sympy.Expr:
    operation, left, right = draw(st.sampled_from(OPERATIONS)), draw(operands), draw(operands)
    try:
        return operation(left, right)
    except (TypeError, ValueError):  # of sympy: complex numbers and NaN have no order
        reject()


EXPRESSIONS = st.recursive(NUMBERS, operations, max_leaves=5)
RELATIONS = st.sampled_from([sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt, sympy.Eq, sympy.Ne])
INTEGERS = st.one_of(st.integers(-9, 9), st.sampled_from([2**53 + 1, -(2**60) + 1, 10**17 + 3, 10**400]))


def computed(node: sympy.Basic, values: dict[str, int]) -> int | float | bool:
    """The value that Python computes for a node, operation by operation."""
    if isinstance(node, sympy.Symbol):
        return values[node.name]
    if isinstance(node, (sympy.Integer, sympy.Float)):
        return int(node) if isinstance(node, sympy.Integer) else float(node)
    if isinstance(node, sympy.Rational):
        return int(node.p) / int(node.q)
    if node in (sympy.true, sympy.false):
        return node is sympy.true
    if isinstance(node, sympy.Pow) and node.exp == HALF:
        return math.sqrt(computed(node.base, values))
    args = [computed(arg, values) for arg in node.args]
    match node.func.__name__:
        case "Add":
            return sum(args[1:], args[0])
        case "Mul":
            return math.prod(args[1:], start=args[0])
        case "Pow":
            return args[0] ** args[1]
        case "Max":
            return max(args)
        case "Min":
            return min(args)
        case "Abs":
            return abs(args[0])
        case "floor":
            return math.floor(args[0])
        case "ceiling":
            return math.ceil(args[0])
        case "GreaterThan":
            return args[0] >= args[1]
        case "LessThan":
            return args[0] <= args[1]
        case "StrictGreaterThan":
            return args[0] > args[1]
        case "StrictLessThan":
            return args[0] < args[1]
        case "Equality":
            return args[0] == args[1]
        case "Unequality":
            return args[0] != args[1]
    raise AssertionError(node)


@given(EXPRESSIONS, EXPRESSIONS, RELATIONS, INTEGERS, INTEGERS)
@example(sympy.Float(0.29) * X, sympy.Integer(29), sympy.Lt, 100, 0)
@example(sympy.Max(X, 0.5), sympy.Float(2.0**53), sympy.Eq, 2**53 + 1, 0)
@example(sympy.sqrt(X * 1.0), sympy.Integer(1), sympy.Ge, -4, 0)
@example(sympy.floor(X * 1e300), Y, sympy.Ge, 10**17 + 3, 0)
def test_what_is_read_is_what_python_computes(
    left: sympy.Expr, right: sympy.Expr, relation: type[sympy.core.relational.Relational], x: int, y: int
) -> None:
    """A failure means that a float is read as another value than Python's, or is said to be defined where it raises."""
    try:
        question = relation(left, right)
    except TypeError:  # of sympy, for complex numbers and NaN
        return
    terms = Interner()
    names = {name: terms.symbol(name) for name in ("x", "y")}
    try:
        found = from_sympy(question, terms, names, floats=True)
    except NotExpressible:
        return
    assert isinstance(found, Parsed) and not isinstance(found, ParsedExpr)
    values = {names["x"].atom: x, names["y"].atom: y}
    if any(isinstance(node, sympy.Float) for node in sympy.preorder_traversal(question)):
        if found.domain.evaluate(values):
            assert found.prop.evaluate(values) == computed(question, {"x": x, "y": y})
