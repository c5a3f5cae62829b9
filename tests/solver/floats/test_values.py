"""Float values against Python itself: the same random program on ints and as a `Float`.

The oracle is Python's own float arithmetic. What must agree: the value of every rounding and comparison, the domain
(where Python raises nothing), bounds (which must contain every value) and thresholds (which must be exact).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from solver.floats import values as floats
from solver.floats.programs import program
from solver.floats.ranges import OVERFLOW
from solver.floats.values import Float
from solver.syntax.parser import parse_expr
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function, register
from solver.terms.interner import Interner
from solver.terms.operations import Threshold

Tree = tuple[object, ...]
"""("argument", i) | ("constant", x) | ("truediv", i, j) | (operation, tree, ...)."""

BINARY: dict[str, tuple[Callable[[float, float], float], Callable[[Float, Float], Float]]] = {
    "+": (operator.add, floats.add),
    "-": (operator.sub, floats.subtract),
    "*": (operator.mul, floats.multiply),
    "/": (operator.truediv, floats.divide),
    "//": (operator.floordiv, floats.floordiv),
    "%": (operator.mod, floats.remainder),
    "**": (operator.pow, floats.power),
}
UNARY: dict[str, tuple[Callable[[float], float], Callable[[Float], Float]]] = {
    "negate": (operator.neg, floats.negate),
    "abs": (abs, floats.absolute),
    "sqrt": (math.sqrt, floats.square_root),
    "round2": (lambda x: round(x, 2), lambda x: floats.round_to(x, 2)),
}
ROUNDINGS: dict[str, tuple[Callable[[float], int], Callable[[Float], Expr]]] = {
    "floor": (math.floor, floats.floor),
    "ceil": (math.ceil, floats.ceil),
    "trunc": (math.trunc, floats.trunc),
    "round": (round, floats.round_half_even),
}
COMPARISONS = {
    ">=": operator.ge,
    ">": operator.gt,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}

CONSTANTS = st.sampled_from([0.29, 0.5, 1.0, 2.0, -1.5, 0.1, 3.0, 1e10, 1e300, -0.0, 0.0, 1e-300]) | st.floats(
    -100, 100
)
INTEGERS = (
    st.integers(-20, 200) | st.integers(-(2**70), 2**70) | st.sampled_from([OVERFLOW - 1, OVERFLOW, -OVERFLOW, 10**400])
)
LEAVES = st.one_of(
    st.tuples(st.just("argument"), st.integers(0, 1)),
    st.tuples(st.just("constant"), CONSTANTS),
    st.tuples(st.just("truediv"), st.integers(0, 2), st.integers(0, 2)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner), st.tuples(st.sampled_from(sorted(UNARY)), inner)
    ),
    max_leaves=5,
)
RAISED = (ArithmeticError, ValueError, TypeError)


def python_value(tree: Tree, arguments: Sequence[int]) -> float:
    match tree:
        case ("argument", int(i)):
            return float(arguments[i])
        case ("constant", float(x)):
            return x
        case ("truediv", int(i), int(j)):
            return (*arguments, 7)[i] / (*arguments, 7)[j]
        case (str(operation), tuple(a), tuple(b)):
            value = BINARY[operation][0](python_value(a, arguments), python_value(b, arguments))
            if isinstance(value, complex):
                raise ValueError("complex")
            return value
        case (str(operation), tuple(a)):
            return UNARY[operation][0](python_value(a, arguments))
    raise AssertionError(tree)


def symbolic_value(tree: Tree, arguments: Sequence[Expr]) -> Float:
    match tree:
        case ("argument", int(i)):
            return floats.convert(arguments[i])
        case ("constant", float(x)):
            return floats.constant(arguments[0].interner, x)
        case ("truediv", int(i), int(j)):
            integers = (*arguments, arguments[0].interner.constant(7))
            return floats.quotient(integers[i], integers[j])
        case (str(operation), tuple(a), tuple(b)):
            return BINARY[operation][1](symbolic_value(a, arguments), symbolic_value(b, arguments))
        case (str(operation), tuple(a)):
            return UNARY[operation][1](symbolic_value(a, arguments))
    raise AssertionError(tree)


def two_symbols() -> tuple[list[Expr], list[Atom]]:
    interner = Interner()
    symbols = [interner.symbol("s"), interner.symbol("t")]
    return symbols, [next(iter(s.symbols)) for s in symbols]


def values(atoms: Sequence[Atom], arguments: Sequence[int]) -> Mapping[Atom, int]:
    return dict(zip(atoms, arguments))


@given(TREES, st.sampled_from(sorted(ROUNDINGS)), INTEGERS, INTEGERS)
@example(("*", ("constant", 0.29), ("argument", 0)), "trunc", 100, 0)
@example(("sqrt", ("argument", 0)), "floor", -1, 0)
@example(("**", ("argument", 0), ("constant", 0.5)), "trunc", 9, 0)
@example(("**", ("negate", ("argument", 0)), ("constant", 0.29)), "ceil", 1, 0)
def test_roundings_and_their_domain(tree: Tree, rounding: str, x: int, y: int) -> None:
    """A wrong value or domain here is a wrong shape, or a check that raises at run time."""
    symbols, atoms = two_symbols()
    at = values(atoms, (x, y))
    try:
        built = symbolic_value(tree, symbols)
        rounded = ROUNDINGS[rounding][1](built)
    except RAISED:  # a constant step that Python refuses too
        with pytest.raises(RAISED):
            ROUNDINGS[rounding][0](python_value(tree, (x, y)))
        return
    try:
        expected = ROUNDINGS[rounding][0](python_value(tree, (x, y)))
    except RAISED:
        assert not floats.finite(built).evaluate(at)
        return
    if max(abs(x), abs(y)) < OVERFLOW:
        assert floats.finite(built).evaluate(at)
    assert rounded.evaluate(at) == expected


@given(TREES, TREES, st.sampled_from(sorted(COMPARISONS)), INTEGERS, INTEGERS)
@example(("argument", 0), ("constant", 0.0), "==", 0, 0)
@example(("truediv", 0, 2), ("constant", 1.5), ">", 11, 0)
@example(
    ("-", ("*", ("argument", 0), ("constant", 1e300)), ("*", ("argument", 1), ("constant", 1e300))),
    ("argument", 0),
    "<",
    2**60,
    2**60,
)
def test_comparisons(left: Tree, right: Tree, operation: str, x: int, y: int) -> None:
    """A wrong comparison is a branch taken on the wrong side."""
    symbols, atoms = two_symbols()
    at = values(atoms, (x, y))
    try:
        expected = COMPARISONS[operation](python_value(left, (x, y)), python_value(right, (x, y)))
        a, b = symbolic_value(left, symbols), symbolic_value(right, symbols)
    except RAISED:
        return
    if a.domain.evaluate(at) and b.domain.evaluate(at):
        assert floats.compare(operation, a, b).evaluate(at) == expected


@given(TREES, st.sampled_from(sorted(COMPARISONS)), INTEGERS, INTEGERS, st.booleans())
@example(("*", ("constant", 0.1), ("argument", 0)), "==", 30, 3, False)
def test_comparisons_with_integers_are_exact(tree: Tree, operation: str, x: int, y: int, constant: bool) -> None:
    """Python compares an int with a float without converting it: 2**53 + 1 is not 2.0**53."""
    symbols, atoms = two_symbols()
    at = values(atoms, (x, y))
    try:
        value = python_value(tree, (x, y))
        a = symbolic_value(tree, symbols)
    except RAISED:
        return
    integer = symbols[0].interner.constant(y) if constant else symbols[1]
    if a.domain.evaluate(at):
        assert floats.compare(operation, a, integer).evaluate(at) == COMPARISONS[operation](value, y)
        assert floats.compare(operation, integer, a).evaluate(at) == COMPARISONS[operation](y, value)


@given(
    TREES,
    st.sampled_from(sorted(ROUNDINGS)),
    st.lists(INTEGERS, min_size=2, max_size=2),
    st.lists(st.integers(0, 300), min_size=2, max_size=2),
    st.data(),
)
def test_bounds_contain_every_value(
    tree: Tree, rounding: str, los: list[int], widths: list[int], data: st.DataObject
) -> None:
    """The bounds rung and the checker both trust these: an interval too narrow proves false things."""
    symbols, _ = two_symbols()
    try:
        rounded = ROUNDINGS[rounding][1](symbolic_value(tree, symbols))
    except RAISED:
        return
    assume(not rounded.is_constant)
    atom = next(atom for atom in rounded.atoms if atom.kind == "function")
    known = function(atom.name)
    places = [symbols.index(arg) for arg in atom.args]
    lo, hi = known.bounds(*[(los[i], los[i] + widths[i]) for i in places])
    points = [data.draw(st.integers(los[i], los[i] + widths[i])) for i in range(2)]
    try:
        value = ROUNDINGS[rounding][0](python_value(tree, points))
    except RAISED:
        return
    assert (lo is None or lo <= value) and (hi is None or value <= hi)


MONOTONE = st.sampled_from(
    ["0.29*float({0})", "-1.5*float({0}) + 7.0", "truediv({0}, 3)", "truediv({0}, -7)", "sqrt(float({0}))",
     "3.0 - sqrt(5.0 - float({0}))", "float({0})/0.1 - 2.0", "round(0.37*float({0}), 1)", "float({0})*float({0})",
     "float({0}) + truediv({0}, 2)", "-float({0})"]
)  # fmt: skip


@given(
    MONOTONE,
    st.sampled_from(sorted(ROUNDINGS)),
    st.integers(-60, 60) | st.integers(-(2**62), 2**62),
    st.integers(-300, 300) | st.integers(-(2**64), 2**64),
)
@example("truediv({0}, 2)", "round", 1, 1)
def test_thresholds_are_exact(text: str, rounding: str, k: int, e: int) -> None:
    """A threshold replaces the comparison: off by one is a wrong answer."""
    known = function(f"{rounding}({text})")
    threshold = known.threshold(k)
    try:
        value = ROUNDINGS[rounding][0](program(text).evaluate(e))
    except RAISED:
        return
    match threshold:
        case Threshold(at, rising):
            assert (value >= k) == (e >= at if rising else e <= at)
        case None:
            assert text == "float({0})*float({0})"
        case _:
            assert (value >= k) == threshold


@given(st.integers(0, 10**6))
def test_a_chosen_value_needs_only_its_own_domain(x: int) -> None:
    """`1/x if x > 0 else 0.0` must make sense at 0."""
    symbols, atoms = two_symbols()
    s, interner = symbols[0], symbols[0].interner
    chosen = floats.choose(
        interner.gt(s, 0),
        floats.divide(floats.constant(interner, 1.0), floats.convert(s)),
        floats.constant(interner, 0.5),
    )
    at = values(atoms, (x, 0))
    assert floats.finite(chosen).evaluate(at)
    assert floats.ceil(chosen).evaluate(at) == math.ceil(1 / x if x > 0 else 0.5)


def test_the_largest_integer_that_converts() -> None:
    """The domain of `float(s)` is exact at both ends."""
    assert float(OVERFLOW - 1) == program("float({0})").evaluate(OVERFLOW - 1)
    with pytest.raises(OverflowError):
        float(OVERFLOW)


def test_registered_functions() -> None:
    """A user's function is refused when it would replace another of the same name."""

    def double(n: int) -> int:
        return 2 * n

    register("doubled_in_test", double, lambda n: n)
    register("doubled_in_test", double, lambda n: n)
    with pytest.raises(ValueError, match="doubled_in_test"):
        register("doubled_in_test", lambda n: 3 * n, lambda n: n)
    with pytest.raises(ValueError, match="identifier"):
        register("a+b", double, lambda n: n)
    with pytest.raises(LookupError, match="no_such_function"):
        function("no_such_function")


def test_a_function_without_arguments_is_read() -> None:
    """A function without arguments has a value everywhere."""
    register("seven_in_test", lambda: 7, lambda: (7, 7), arity=0)
    terms = Interner()
    s = terms.symbol("s")
    parsed = parse_expr("seven_in_test() + s", {"s": s}, terms)
    assert parsed.expr is s + 7
    assert parsed.domain is terms.true


@given(st.integers(-5, 10**40), st.integers(0, 10**20))
def test_isqrt(n: int, k: int) -> None:
    """Bounds and threshold of the integer square root."""
    known = function("isqrt")
    lo, hi = known.bounds((n, n))
    assert lo == hi == known.evaluate(n)
    threshold = known.threshold(k)
    if n >= 0:
        assert (math.isqrt(n) >= k) == (
            threshold if isinstance(threshold, bool) else isinstance(threshold, Threshold) and n >= threshold.at
        )
