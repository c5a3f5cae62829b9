"""The parts that the rungs are made of, and rungs that need questions of their own kind, against enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from solver.decide.prover import LadderProver
from solver.decide.verdict import Always, Never
from solver.knowledge.facts import Facts
from solver.knowledge.roots import root_bound
from solver.proofs.checker import verify
from solver.rungs.lemmas import negative_direction
from solver.rungs.residues import indivisible, nonzero
from solver.samples.table import Table
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.properties.programs import compiled, truth
from tests.solver.asked import Asked, asked

REACH = range(-60, 61)


def polynomial(x: Expr, coefficients: list[int]) -> Expr:
    total = x.interner.zero
    for c in coefficients:
        total = total * x + c
    return total


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=6).filter(lambda c: c[0] != 0), st.booleans())
@example([-1, 0, -1], True)
@example([-1, -3, 40], True)
@example([1, 0, 0, -8], True)
def test_roots_bound(coefficients: list[int], lower: bool) -> None:
    """If this fails, a value where the polynomial is not negative is cut off, or one that falls has no bound."""
    interner = Interner()
    x = interner.symbol("x")
    e = polynomial(x, coefficients)
    bound = root_bound(e, x.atom, lower=lower)
    far = -(10**6) if lower else 10**6
    assert (bound is None) == (e.evaluate({x.atom: far}) >= 0)
    if bound is not None:
        for value in [*REACH, bound - 1, bound, bound + 1]:
            if e.evaluate({x.atom: value}) >= 0:
                assert value >= bound if lower else value <= bound


@st.composite
def symmetric(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(1, 4))
    entries = {pair: draw(st.integers(-4, 6)) for pair in product(range(size), repeat=2)}
    return [[entries[min(i, j), max(i, j)] for j in range(size)] for i in range(size)]


def determinant(matrix: list[list[Fraction]]) -> Fraction:
    if not matrix:
        return Fraction(1)
    return sum(
        [(-1) ** j * c * determinant([row[:j] + row[j + 1 :] for row in matrix[1:]]) for j, c in enumerate(matrix[0])],
        Fraction(0),
    )


@given(symmetric())
@example([[1, 2, 1], [2, 1, 1], [1, 1, 1]])
@example([[0, 1], [1, 0]])
@example([[3, -2, -2], [-2, 3, -2], [-2, -2, 3]])
def test_negative_directions(matrix: list[list[int]]) -> None:
    """If this fails, a square that the point makes negative is missed, or a lemma is added that cuts nothing off."""
    found = negative_direction([list(row) for row in matrix])
    if found is not None:
        assert sum(a * b * matrix[i][j] for i, a in enumerate(found) for j, b in enumerate(found)) < 0
    else:
        for count in range(1, len(matrix) + 1):
            for places in combinations(range(len(matrix)), count):
                assert determinant([[Fraction(matrix[i][j]) for j in places] for i in places]) >= 0


NUMBERS = st.integers(-4, 4)


@st.composite
def expressions(draw: st.DrawFn, x: Expr, y: Expr, depth: int = 3) -> Expr:
    interner = x.interner
    if depth == 0:
        return draw(st.sampled_from([x, y, interner.constant(draw(NUMBERS))]))
    a, b = draw(expressions(x, y, depth - 1)), draw(expressions(x, y, depth - 1))
    match draw(st.integers(0, 6)):
        case 0 | 1:
            return a + b
        case 2:
            return a * b
        case 3:
            return a // draw(st.integers(1, 5))
        case 4:
            return interner.maximum(a, b)
        case 5:
            return interner.bit_and(a, b)
        case _:
            return interner.ite(interner.ge(a, b), a - b, b)


@given(st.data())
def test_columns(data: st.DataObject) -> None:
    """If this fails, a box is judged by other values than its assignments have."""
    interner = Interner()
    x, y = interner.symbol("x"), interner.symbol("y")
    e = data.draw(expressions(x, y))
    table = Table([x.atom, y.atom], [range(-3, 4), (0, 2, 7)])
    points = list(product(range(-3, 4), (0, 2, 7)))
    assert list(table.values(e)) == [e.evaluate({x.atom: a, y.atom: b}) for a, b in points]
    p = Prop.nonnegative(e - 1)
    assert list(table.truths(p)) == [p.evaluate({x.atom: a, y.atom: b}) for a, b in points]


@given(st.lists(st.integers(-6, 6), min_size=6, max_size=6), st.integers(-9, 9))
def test_residues_exclude_what_never_occurs(coefficients: list[int], constant: int) -> None:
    """If this fails, a polynomial with a root is proven never to be zero."""
    interner = Interner()
    x, y = interner.symbol("x"), interner.symbol("y")
    parts = [x * x, x * y, y * y, x, y, x * x * x]
    e = interner.sum([part * c for part, c in zip(parts, coefficients, strict=True)]) + constant
    if nonzero(LadderProver(Facts.empty(interner)), e) is not None:
        for a, b in product(range(-10, 11), repeat=2):
            assert e.evaluate({x.atom: a, y.atom: b}) != 0


TERMS = st.sampled_from(["x", "y", "x + 1", "y - 2", "2*x", "x - y", "3", "0"])


@st.composite
def choices(draw: st.DrawFn, depth: int = 2) -> str:
    """Nests of min, max and abs."""
    if depth == 0:
        return draw(TERMS)
    a, b = draw(choices(depth - 1)), draw(choices(depth - 1))
    return draw(st.sampled_from([f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"({a}) + ({b})", f"({a}) - ({b})"]))


@st.composite
def products(draw: st.DrawFn) -> str:
    """Sums of products, quotients and remainders."""
    factor = st.sampled_from(["x", "y", "(x + 1)", "(x - y)", "(y//3)", "(x % 4)", "(x//(y*y + 1))"])
    terms = [f"{draw(NUMBERS)}*{draw(factor)}*{draw(factor)}" for _ in range(draw(st.integers(1, 3)))]
    return " + ".join([*terms, str(draw(st.integers(-6, 6)))])


def judge(question: Asked, rungs: tuple[str, ...]) -> None:
    """A settled question is true (or false) at every point of a box where its facts hold and it makes sense."""
    facts, _ = question.known()
    if not isinstance(facts, Facts):
        return
    verdict = question.verdict(*rungs)
    if not isinstance(verdict, (Always, Never)):
        return
    sides = [range(-7 if lo is None else lo, 8 if hi is None else hi + 1) for _, lo, hi in question.bounds]
    codes = [compiled(fact) for fact in question.facts]
    asked = compiled(question.question)
    for values in product(*sides):
        point = dict(zip([name for name, _, _ in question.bounds], values, strict=True))
        value = truth(asked, point)
        if value is not None and all(truth(code, point) for code in codes):
            assert value is isinstance(verdict, Always), point


BOUNDS = st.sampled_from([(None, None), (0, None), (1, None), (None, 5), (-3, 4), (0, 7)])


@pytest.mark.parametrize("rungs", [("extremes", "bounds"), ("refine", "bounds")], ids=["extremes", "refine"])
@given(bounds=st.tuples(BOUNDS, BOUNDS), left=choices(), right=choices(1), fact=choices(1))
def test_min_and_max(
    rungs: tuple[str, ...], bounds: tuple[tuple[int | None, int | None], ...], left: str, right: str, fact: str
) -> None:
    """If this fails, a nest of min, max and abs is taken apart wrongly."""
    symbols = tuple([(name, lo, hi) for name, (lo, hi) in zip("xy", bounds, strict=True)])
    for question in (f"{left} <= {right}", f"{left} == {right}"):
        judge(Asked(symbols, (f"{fact} <= 4",), question), rungs)


@pytest.mark.parametrize("rungs", [("refine", "bounds"), ("factor", "shift", "linear"), ("residues", "bounds")])
@given(bounds=st.tuples(BOUNDS, BOUNDS), left=products(), right=TERMS, fact=products())
def test_products(
    rungs: tuple[str, ...], bounds: tuple[tuple[int | None, int | None], ...], left: str, right: str, fact: str
) -> None:
    """If this fails, a lemma about products, a factor or a residue is wrong."""
    symbols = tuple([(name, lo, hi) for name, (lo, hi) in zip("xy", bounds, strict=True)])
    for question in (f"{left} >= {right}", f"{left} != {right}"):
        judge(Asked(symbols, (f"{fact} >= 0",), question), rungs)


@given(
    st.integers(-6, 6), st.integers(0, 9), st.integers(1, 3), st.integers(-3, 3), st.integers(-200, 200).filter(bool)
)
@example(2, 2, 1, 0, -(2**63 - 1))
@example(-1, 2, 1, 1, 6)
def test_no_divisor_is_missed(low: int, width: int, scale: int, slope: int, constant: int) -> None:
    """If this fails, a number that a value in the range divides is said to have no such divisor, or the other way."""
    interner = Interner()
    x, y, z = (interner.symbol(name) for name in "xyz")
    known = Facts.empty(interner).declare_range(x, low, low + width)
    goal = Prop.zero(x * (y * scale + z * (slope * scale)) + constant).negation
    if goal.kind != "ne" or not any(atom is x.atom for atom in goal.symbols):
        return
    proof = indivisible(LadderProver(known), known, goal)
    reached = any(value and constant % (value * scale) == 0 for value in range(low, low + width + 1))
    assert (proof is None) == reached
    if proof is not None:
        assert verify(proof, goal, interner.true)


@given(st.lists(st.integers(-3, 6), min_size=4, max_size=4), st.integers(1, 4), st.integers(-4, 8))
@example([0, 2, 3, 1], 4, 1)
def test_clamps_in_disequalities(bounds: list[int], scale: int, value: int) -> None:
    """If this fails, a minimum is said never to take a value that it does take."""
    a, b, c, d = bounds
    low, high = sorted((a, b))
    line = f"x {low}..{high} y {min(c, d)}..{max(c, d)} z 1..2; min(max(x*{scale}, y), y + z) != {value}"
    verdict = asked(line).verdict("bounds", "extremes", "shift")
    taken = {
        min(max(x * scale, y), y + z) == value
        for x, y, z in product(range(low, high + 1), range(min(c, d), max(c, d) + 1), (1, 2))
    }
    assert not isinstance(verdict, Always) or taken == {False}
    assert not isinstance(verdict, Never) or taken == {True}
