"""The order of floats against Python's own: ordinals, sets of doubles, comparisons of programs of doubles, answers.

The oracle is Python's float arithmetic on patterns: zeros, subnormal numbers, infinities, NaNs, neighbours of powers of
two, anything.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from solver.decide.assume import assume as assume_fact
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.ordinals import (
    LARGEST,
    NAN,
    at_least,
    complement,
    double,
    from_ordinal,
    ordinal,
    pattern,
    preimage,
    steps_of,
    values_where,
)
from solver.floats.values import Float
from solver.knowledge.facts import Facts
from solver.proofs.checker import verify
from solver.proofs.step import ProofStep
from solver.syntax.parser import parse
from solver.syntax.printer import text_of
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.solver.floats.test_values import BINARY, COMPARISONS, RAISED, ROUNDINGS, UNARY

SPECIAL = [
    0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.0, -1.0, 0.5, 2.0, 2.5, -2.5, 3.0,
    0.1, 1e16, 2.0**53, 2.0**53 - 1, 1.7976931348623157e308, -1.7976931348623157e308, 8.98846567431158e307, math.inf,
    -math.inf,
    math.nan, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), math.nextafter(2.0, 0.0), math.nextafter(4.0, 9.0),
]  # fmt: skip
PATTERNS = st.sampled_from([*map(pattern, SPECIAL), 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001, 2**64 - 1]) | (
    st.integers(0, 2**64 - 1)
) | st.floats().map(pattern)  # fmt: skip
CONSTANTS = st.sampled_from(SPECIAL) | st.floats(-100, 100)
MOST = 2**64 - 1

Tree = tuple[object, ...]
LEAVES = st.one_of(
    st.tuples(st.just("double"), st.integers(0, 1)),
    st.tuples(st.just("double"), st.integers(0, 1)),
    st.tuples(st.just("convert"), st.just(2)),
    st.tuples(st.just("constant"), CONSTANTS),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "+", "*", "//", "%"]), inner, inner),
        st.tuples(st.sampled_from(["negate", "abs", "sqrt"]), inner),
        st.tuples(st.just("max"), inner, inner),
    ),
    max_leaves=5,
)


def python_value(tree: Tree, arguments: list[int]) -> float:
    match tree:
        case ("double", int(i)):
            return double(arguments[i])
        case ("convert", int(i)):
            return float(arguments[i])
        case ("constant", float(x)):
            return x
        case ("max", tuple(a), tuple(b)):
            x, y = python_value(a, arguments), python_value(b, arguments)
            return max(x, y)
        case (str(operation), tuple(a), tuple(b)):
            return BINARY[operation][0](python_value(a, arguments), python_value(b, arguments))
        case (str(operation), tuple(a)):
            return UNARY[operation][0](python_value(a, arguments))
    raise AssertionError(tree)


def symbolic_value(tree: Tree, arguments: list[Expr]) -> Float:
    match tree:
        case ("double", int(i)):
            return floats.from_pattern(arguments[i])
        case ("convert", int(i)):
            return floats.convert(arguments[i])
        case ("constant", float(x)):
            return floats.constant(arguments[0].interner, x)
        case ("max", tuple(a), tuple(b)):
            x, y = symbolic_value(a, arguments), symbolic_value(b, arguments)
            larger = floats.choose(floats.compare(">", y, x), y, x)
            # Python computes both
            larger.domain = larger.interner.conjunction([larger.domain, x.domain, y.domain])
            return larger
        case (str(operation), tuple(a), tuple(b)):
            return BINARY[operation][1](symbolic_value(a, arguments), symbolic_value(b, arguments))
        case (str(operation), tuple(a)):
            return UNARY[operation][1](symbolic_value(a, arguments))
    raise AssertionError(tree)


def symbols_and_atoms() -> tuple[list[Expr], list[Atom]]:
    interner = Interner()
    symbols = [interner.symbol(name) for name in "uvs"]
    return symbols, [symbol.atom for symbol in symbols]


@given(PATTERNS, PATTERNS)
def test_ordinals_keep_the_order(x: int, y: int) -> None:
    """The one idea: doubles are compared by integers, NaNs apart."""
    a, b = double(x), double(y)
    i, j = ordinal(a), ordinal(b)
    assert NAN <= i <= LARGEST and (i == NAN) == math.isnan(a)
    assert function("ordinal(double({0}))").evaluate(x) == i
    assert repr(from_ordinal(i)) == repr(a).replace("-0.0", "0.0") if a == 0 else repr(from_ordinal(i)) == repr(a)
    if math.isnan(a) or math.isnan(b):
        return
    assert (a < b) == (i < j) and (a == b) == (i == j)


@given(
    st.sampled_from([">=", ">", "<=", "<", "=="]),
    PATTERNS,
    CONSTANTS | st.integers() | st.sampled_from([10**400, -(10**400), 2**1024 - 1, 2**53 + 1]),
)
@example(">", pattern(math.inf), 10**400)
@example("<", pattern(-math.inf), -(10**400))
def test_the_doubles_of_a_comparison(operation: str, x: int, c: float) -> None:
    """Integers are compared exactly, as Python does."""
    values = values_where(operation, c)
    k = ordinal(double(x))
    assert any(lo <= k <= hi for lo, hi in values) == COMPARISONS[operation](double(x), c)
    outside = complement(values)
    assert any(lo <= k <= hi for lo, hi in outside) != any(lo <= k <= hi for lo, hi in values)
    if c == c:
        assert not c - c == 0 or from_ordinal(at_least(c)) >= c


STEPS = [
    (operation, constants)
    for operation in "+-*/"
    for c in (2.5, -0.1, 1e300, 5e-324, 1.0, 0.0, -1e-300)
    for constants in ((None, c), (c, None))
] + [(operation, ()) for operation in ("negate", "abs", "sqrt", "square", "twice")]


@given(st.sampled_from(STEPS), st.lists(PATTERNS, min_size=2, max_size=4), PATTERNS)
def test_steps_are_undone_exactly(step: tuple[str, tuple[float | None, ...]], ends: list[int], x: int) -> None:
    """Off by one unit in the last place is a wrong answer."""
    operation, constants = step
    steps = steps_of(operation, constants)
    if steps is None:
        assert 0.0 in constants
        return
    bounds = sorted(ordinal(double(end)) for end in ends)
    values = tuple((lo, hi) for lo, hi in zip(bounds[::2], bounds[1::2], strict=False))
    values = complement(complement(values))  # disjoint
    found = preimage(steps, values)
    places = [ordinal(double(x)), *[k + d for lo, hi in found for k in (lo, hi) for d in (-1, 0, 1)]]
    for k in places:
        if not NAN <= k <= LARGEST:
            continue
        value = from_ordinal(k)
        if value == value and not any(piece.lo <= k <= piece.hi for piece in steps.pieces):
            continue
        if operation == "sqrt" and value < 0:
            continue
        match operation, constants:
            case ("negate" | "abs" | "sqrt"), _:
                image = UNARY[operation][0](value)
            case "square", _:
                image = value * value
            case "twice", _:
                image = value + value
            case _, (None, c):
                image = BINARY[operation][0](value, c)
            case _, (c, _):
                image = BINARY[operation][0](c, value)
        assert any(lo <= k <= hi for lo, hi in found) == any(lo <= ordinal(image) <= hi for lo, hi in values), value


@given(TREES, TREES, st.sampled_from(sorted(COMPARISONS)), PATTERNS, PATTERNS, st.integers(-(2**70), 2**70))
@example(("double", 0), ("double", 0), "==", pattern(math.nan), 0, 0)
@example(("double", 0), ("constant", 2.5), "<=", pattern(math.nan), 0, 0)
@example(("/", ("constant", 1.0), ("double", 0)), ("constant", 0.0), ">=", pattern(-math.inf), 0, 0)
@example(("max", ("double", 0), ("double", 1)), ("constant", 0.0), ">=", pattern(math.nan), pattern(1.0), 0)
@example(("-", ("double", 0), ("double", 1)), ("constant", 0.0), "!=", pattern(math.inf), pattern(math.inf), 0)
def test_comparisons(left: Tree, right: Tree, operation: str, x: int, y: int, n: int) -> None:
    """A wrong comparison is a branch taken on the wrong side; so is a text that means another."""
    symbols, atoms = symbols_and_atoms()
    at = dict(zip(atoms, (x, y, n), strict=True))
    try:
        expected = COMPARISONS[operation](python_value(left, [x, y, n]), python_value(right, [x, y, n]))
        a, b = symbolic_value(left, symbols), symbolic_value(right, symbols)
    except (*RAISED, NotExpressible):
        return
    p = floats.compare(operation, a, b)
    if a.domain.evaluate(at) and b.domain.evaluate(at):
        assert p.evaluate(at) == expected
        assert p.negation.evaluate(at) != expected
        again = parse(text_of(p), dict(zip("uvs", symbols, strict=True)), symbols[0].interner).prop
        assert again.evaluate(at) == expected


@given(TREES, st.sampled_from(sorted(ROUNDINGS)), PATTERNS, PATTERNS, st.integers(-(2**70), 2**70))
def test_roundings(tree: Tree, rounding: str, x: int, y: int, n: int) -> None:
    """Doubles are taken by their ordinals in roundings too: the value must be the same."""
    symbols, atoms = symbols_and_atoms()
    at = dict(zip(atoms, (x, y, n), strict=True))
    try:
        built = symbolic_value(tree, symbols)
        rounded = ROUNDINGS[rounding][1](built)
    except (*RAISED, NotExpressible):
        return
    try:
        expected = ROUNDINGS[rounding][0](python_value(tree, [x, y, n]))
    except RAISED:
        assert not floats.finite(built).evaluate(at)
        return
    assert floats.finite(built).evaluate(at)
    assert rounded.evaluate(at) == expected


@given(TREES, st.lists(PATTERNS, min_size=4, max_size=4), st.data())
def test_bounds_contain_every_value(tree: Tree, ends: list[int], data: st.DataObject) -> None:
    """The bounds rung and the checker both trust these: an interval too narrow proves false things."""
    symbols, _ = symbols_and_atoms()
    try:
        e = floats.ordinal(symbolic_value(tree, symbols))
    except (*RAISED, NotExpressible):
        return
    assume(not e.is_constant)
    if e.atom.name == "ordinal(double({0}))":
        return
    k = sorted(ordinal(double(end)) for end in ends)
    intervals = {symbols[0]: (k[0], k[1]), symbols[1]: (k[2], k[3]), symbols[2]: (-5, 9)}
    points = {symbol: data.draw(st.integers(lo, hi)) for symbol, (lo, hi) in intervals.items()}
    values = [pattern(from_ordinal(points[symbol])) for symbol in symbols[:2]]
    arguments = []
    for argument in e.atom.args:
        assert isinstance(argument, Expr)
        if any(atom.kind == "ite" for atom in argument.atoms):
            return
        source = argument if argument in intervals else argument.atom.args[0]
        assert isinstance(source, Expr)
        arguments.append(intervals[source])
    lo, hi = function(e.atom.name).bounds(*arguments)
    try:
        value = ordinal(python_value(tree, [*values, points[symbols[2]]]))
    except RAISED:
        return
    assert lo is not None and hi is not None and lo <= value <= hi


def float_facts(*names: str) -> tuple[Facts, list[Float]]:
    interner = Interner()
    known, found = Facts.empty(interner), []
    for name in names:
        symbol = interner.symbol(name)
        known = known.declare_range(symbol, 0, MOST)
        found.append(floats.from_pattern(symbol))
    return known, found


ANSWERS = [
    ("u > 2.5", "u > 2.5", Always), ("u > 2.5", "u >= 2.5", Always), ("u > 2.5", "u > 2.0", Always),
    ("u > 2.5", "u > 0.0", Always), ("u > 2.5", "u < 2.0", Never), ("u > 2.5", "u == 1.0", Never),
    ("u > 2.5", "u != 1.0", Always), ("u > 2.5", "u == u", Always), ("u > 2.5", "2.0*u + 1.0 > 6.0", Always),
    ("u > 2.5", "sqrt(u) > 1.5", Always), ("u > 2.5", "1.0/u < 0.4", Always), ("u > 2.5", "u*u > 6.25", Always),
    ("u > 2.5", "abs(u) > 2.5", Always), ("u > 2.5", "-u < -2.0", Always),
    ("u > 2.5 and v > 1.0", "u + v > 3.5", Always),
    ("u > 2.5 and v > 1.0", "u*v > 2.0", Always), ("u > 2.5 and v < -1.0", "u*v < 0.0", Always),
    ("u > v and v > w", "u > w", Always), ("u >= v and v >= u", "u == v", Always), ("u > v", "v >= u", Never),
    ("u > v", "u == u and v == v", Always), ("not u > 2.5", "u > 3.0", Never), ("u <= 2.5", "u > 3.0", Never),
    ("1.0 <= u and u <= 4.0", "sqrt(u) <= 2.0", Always), ("1.0 <= u and u <= 4.0", "floor(u) >= 1", Always),
    ("0.0 <= u and u <= 1.0", "u*0.5 <= 0.5", Always), ("u >= 0.0", "sqrt(u) >= 0.0", Always),
    ("u == 2.5", "u + u == 5.0", Always), ("u == 2.5", "floor(u) == 2", Always), ("u < 0.0", "abs(u) > 0.0", Always),
    ("not u > 2.5", "u <= 2.5", Depends), ("u == u", "u <= 2.5", Depends), ("u > 2.5", "u > 3.0", Depends),
    ("u < -1.0", "u < -2.0", Depends), ("u == u", "u*0.0 == 0.0", Depends), ("u == u", "u - u == 0.0", Depends),
    ("u > 0.0", "u + 1.0 > 1.0", Depends), ("u > 0.0 and v > 0.0", "u*v > 0.0", Depends),
]  # fmt: skip


def said(text: str, values: dict[str, Float], interner: Interner) -> Prop:
    bits = {f"{name}": value.arguments[0] for name, value in values.items()}
    parts = "".join(f"double({c})" if c in bits and not w else c for c, w in _letters(text))
    return parse(parts, bits, interner).prop


def _letters(text: str) -> list[tuple[str, bool]]:
    """The characters, and whether each is inside a word."""
    return [
        (c, (i > 0 and text[i - 1].isalpha()) or (i + 1 < len(text) and text[i + 1].isalpha()))
        for i, c in enumerate(text)
    ]


def assumed(known: Facts, prop: Prop) -> Facts:
    """The facts with one more, and samples that satisfy it."""
    facts = assume_fact(known, known.next_fact(prop))
    assert isinstance(facts, Facts)
    return facts


@pytest.mark.parametrize(("fact", "question", "expected"), ANSWERS)
def test_answers(fact: str, question: str, expected: type) -> None:
    """A proposition that follows is proven, with a proof that checks; any other has two witnesses that do."""
    known, found = float_facts("u", "v", "w")
    values = dict(zip("uvw", found, strict=True))
    known = assumed(known, said(fact, values, known.interner))
    verdict = decide(known, said(question, values, known.interner))
    assert isinstance(verdict, expected)
    assert verdict.check()


CONSTANTS_ASKED = [-2.5, -1.0, -5e-324, 0.0, 5e-324, 1.0, 2.5, math.nextafter(2.5, 9), 1e308, math.inf, -math.inf]
POINTS = [
    *CONSTANTS_ASKED, *[math.nextafter(c, math.inf) for c in CONSTANTS_ASKED],
    *[math.nextafter(c, -math.inf) for c in CONSTANTS_ASKED], math.nan, -0.0, 1.7976931348623157e308, 0.1, 3.0, -7.25,
]  # fmt: skip


def random_comparison(rng: random.Random, u: Float, v: Float) -> Prop:
    half, one = (floats.constant(u.interner, c) for c in (0.5, 1.0))
    values = [
        u, v, floats.add(u, v), floats.subtract(u, v), floats.multiply(u, v), floats.multiply(u, half),
        floats.negate(v), floats.absolute(u), floats.add(u, one), floats.multiply(v, v),
    ]  # fmt: skip
    a = rng.choice(values)
    b = rng.choice(values) if rng.random() < 0.3 else floats.constant(u.interner, rng.choice(CONSTANTS_ASKED))
    p = floats.compare(rng.choice(sorted(COMPARISONS)), a, b)
    return p.negation if rng.random() < 0.3 else p


def answered(seed: int) -> str:
    """The kind of one answer, which holds at all of the points where the facts do."""
    rng = random.Random(seed)
    known, (u, v) = float_facts("u", "v")
    bits = [u.arguments[0].atom, v.arguments[0].atom]
    rows = [{bits[0]: pattern(x), bits[1]: pattern(y)} for x, y in product(POINTS, POINTS)]
    for _ in range(rng.randint(1, 3)):
        fact = random_comparison(rng, u, v)
        kept = [row for row in rows if fact.evaluate(row)]
        if kept:
            rows = kept
            known = assumed(known, fact)
    question = random_comparison(rng, u, v)
    verdict = decide(known, question, solvers=False)
    assert isinstance(verdict, GaveUp) or verdict.check()
    if isinstance(verdict, Always | Never):
        assert all(question.evaluate(row) is isinstance(verdict, Always) for row in rows)
    return type(verdict).__name__


def test_random_answers() -> None:
    """Facts and questions over special values: a wrong answer shows at one of them."""
    kinds = Counter(answered(seed) for seed in range(200))
    assert kinds["Always"] + kinds["Never"] >= 25
    assert kinds["GaveUp"] <= 30, "what is open has witnesses"


def test_forged_bounds_are_rejected() -> None:
    """The checker computes bounds of sums of floats again: one unit in the last place more is refused."""
    known, (u, v) = float_facts("u", "v")
    for value, c in ((u, 2.5), (v, 1.0)):
        known = assumed(known, floats.compare(">", value, floats.constant(known.interner, c)))
    total = floats.ordinal(floats.add(u, v))
    lowest = ordinal(math.nextafter(2.5, 9) + math.nextafter(1.0, 9))
    verdict = decide(known, known.interner.ge(total, lowest))
    assert isinstance(verdict, Always) and verdict.check()
    step = verdict.proof
    while step.rule != "operation":
        step = step.premises[0]
    assert verify(step, step.conclusion, known.interner.true)
    for forged in (
        ProofStep("operation", known.interner.ge(total, lowest + 1), step.premises, step.data),
        ProofStep("operation", step.conclusion, step.premises[:1], step.data),
        ProofStep(
            "operation", known.interner.ge(floats.ordinal(floats.multiply(u, v)), lowest), step.premises, step.data
        ),
    ):
        assert not verify(forged, forged.conclusion, known.interner.true)


@pytest.mark.thorough
def test_many_random_answers() -> None:
    for seed in range(1000, 9000):
        answered(seed)
