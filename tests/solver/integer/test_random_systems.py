"""Random systems of linear constraints: against enumeration, z3, and the replay of every certificate."""

import random
from fractions import Fraction
from itertools import product

import pytest
import z3
from hypothesis import example, given
from hypothesis import strategies as st

from solver.integer.certificate import (
    Bound,
    Branch,
    Combine,
    Infeasible,
    Pairs,
    Point,
    Refutation,
    Row,
    Unbounded,
    Unknown,
)
from solver.integer.solving import minimize, solve
from solver.integer.work_budget import Limits
from tests.solver.integer.replay import combine, form, replay, satisfied, system, value, verify

SIDE = 4
"""Variables of the enumerated systems are in 0..SIDE."""


def boxed(rows: list[Row], variables: int, low: int = 0, high: int = SIDE) -> list[Row]:
    return [
        *rows,
        *[Row(((v, 1),), -low, False) for v in range(variables)],
        *[Row(((v, -1),), high, False) for v in range(variables)],
    ]


@st.composite
def boxed_systems(draw: st.DrawFn) -> list[Row]:
    variables = draw(st.integers(1, 4))
    size = draw(st.sampled_from([2, 5, 40]))
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        coefficients = draw(st.lists(st.integers(-size, size), min_size=variables, max_size=variables))
        pairs = tuple((v, c) for v, c in enumerate(coefficients) if c)
        rows.append(Row(pairs, draw(st.integers(-3 * size, 3 * size)), draw(st.booleans())))
    return draw(st.permutations(boxed(rows, variables)))


def enumerated(rows: list[Row]) -> list[tuple[int, ...]]:
    variables = 1 + max(v for row in rows for v, _ in row.coefficients)
    points = product(range(SIDE + 1), repeat=variables)
    return [point for point in points if all(satisfied(row, point) for row in rows)]


@given(boxed_systems())
@example(boxed(system("2*x - 3*y == 1, 3*x - 2*y >= 4"), 2))
def test_boxes_against_enumeration(rows: list[Row]) -> None:
    """A small system is decided wrongly: an unsound certificate rule or a lost point."""
    answer = solve(rows, limits=Limits())
    verify(rows, answer)
    assert isinstance(answer, Point) == bool(enumerated(rows))
    assert not isinstance(answer, Unknown)


@given(boxed_systems(), st.lists(st.integers(-9, 9), min_size=1, max_size=4))
def test_bounds_against_enumeration(rows: list[Row], objective: list[int]) -> None:
    """A bound of a form is above a value that the form takes, or its steps do not derive it."""
    variables = 1 + max(v for row in rows for v, _ in row.coefficients)
    pairs = tuple((v, c) for v, c in enumerate(objective[:variables]) if c)
    answer = minimize(rows, pairs, limits=Limits())
    verify(rows, answer)
    points = enumerated(rows)
    assert not (points and isinstance(answer, Infeasible))
    assert isinstance(answer, Bound | Infeasible)
    if isinstance(answer, Bound):
        derives_bound(rows, pairs, answer)
        for point in points:
            assert value(Row(pairs, 0, False), point) >= answer.value


def derives_bound(rows: list[Row], objective: Pairs, bound: Bound) -> None:
    known = list(rows)
    for step in bound.steps:
        known.append(combine(known, step))
    derived = known[-1]
    if not objective:
        assert derived.coefficients == () and bound.value == 0
        return
    (variable, coefficient) = objective[0]
    content = coefficient // dict(derived.coefficients)[variable]
    assert tuple((v, content * c) for v, c in derived.coefficients) == objective
    assert -content * derived.constant == bound.value


def random_system(chance: random.Random) -> list[Row]:
    """A system of any shape: sparse or dense, thin, with equalities, unbounded, half bounded or in a box."""
    variables = chance.randint(1, 6)
    size = chance.choice([1, 2, 3, 5, 10, 30, 1000, 2**64])
    density = chance.choice([0.3, 0.6, 1])
    equalities = chance.choice([0, 0.3])
    rows = []
    for _ in range(chance.randint(1, chance.choice([3, 6, 12]))):
        coefficients = [chance.randint(-size, size) if chance.random() < density else 0 for _ in range(variables)]
        constant = chance.randint(-size * chance.choice([0, 0, 1, 5]), size * chance.choice([1, 3, 10]))
        pairs = tuple((v, c) for v, c in enumerate(coefficients) if c)
        rows.append(Row(pairs, constant, chance.random() < equalities))
    if chance.random() < 0.5:
        for pairs, constant, equality in list(rows):
            if not equality and chance.random() < 0.5:
                gap = chance.randint(0, max(1, size // 2))
                rows.append(Row(tuple((v, -c) for v, c in pairs), gap - constant, False))
    kind = chance.choice(["free", "free", "nonnegative", "box"])
    if kind == "nonnegative":
        rows += [Row(((v, 1),), 0, False) for v in range(variables)]
    elif kind == "box":
        rows = boxed(rows, variables, high=chance.choice([1, 3, 10, 2**63]))
    chance.shuffle(rows)
    return rows


def z3_status(rows: list[Row]) -> str:
    solver = z3.Solver()
    solver.set("rlimit", 2_000_000)
    for pairs, constant, equality in rows:
        total = z3.IntVal(constant) + z3.Sum([c * z3.Int(f"x{v}") for v, c in pairs])
        solver.add(total == 0 if equality else total >= 0)
    return str(solver.check())


@pytest.mark.parametrize("seed", range(4))
def test_random_systems_against_z3(seed: int) -> None:
    """An answer contradicts z3, is without evidence, or is missing."""
    kinds = set()
    for number in range(150):
        rows = random_system(random.Random(f"{seed} {number}"))
        answer = solve(rows, limits=Limits())
        verify(rows, answer)
        assert not isinstance(answer, Unknown), (seed, number)
        status = z3_status(rows)
        kinds.add(status)
        if status != "unknown":
            assert (status == "sat") == isinstance(answer, Point), (seed, number, status)
    assert {"sat", "unsat"} <= kinds


@pytest.mark.parametrize("seed", range(2))
def test_bounds_against_real_optima(seed: int) -> None:
    """A bound is weaker than the rational relaxation allows, or a finite bound is claimed for an unbounded form."""
    for number in range(60):
        chance = random.Random(f"bounds {seed} {number}")
        rows = random_system(chance)
        objective = tuple((v, c) for v in range(6) if (c := chance.randint(-3, 3)))
        answer = minimize(rows, objective, limits=Limits())
        verify(rows, answer)
        if isinstance(answer, Bound):
            derives_bound(rows, objective, answer)
        optimizer = z3.Optimize()
        for pairs, constant, equality in rows:
            total = z3.RealVal(constant) + z3.Sum([c * z3.Real(f"x{v}") for v, c in pairs])
            optimizer.add(total == 0 if equality else total >= 0)
        least = optimizer.minimize(z3.Sum([c * z3.Real(f"x{v}") for v, c in objective]))
        if optimizer.check() == z3.unsat:
            assert isinstance(answer, Infeasible)
        elif "oo" in str(optimizer.lower(least)):
            # rounding the rows may make them contradict each other, and leaves their slopes as they are
            assert isinstance(answer, Unbounded | Infeasible)
        elif isinstance(answer, Bound):
            optimum = Fraction(str(optimizer.lower(least)))
            assert answer.value >= optimum
        else:
            assert isinstance(answer, Infeasible)


@pytest.mark.parametrize("variables", [10, 20, 30])
def test_larger_systems(variables: int) -> None:
    """A system of the largest size meant for this procedure exceeds the default budget."""
    for seed in range(3):
        chance = random.Random(f"{variables} {seed}")
        hidden = tuple(chance.randint(-20, 20) for _ in range(variables))
        rows = []
        for _ in range(2 * variables):
            coefficients = [chance.choice([0, 0, 0, 0, 1, -1, 2, -2, 3]) for _ in range(variables)]
            pairs = tuple((v, c) for v, c in enumerate(coefficients) if c)
            rows.append(Row(pairs, chance.randint(0, 3) - value(Row(pairs, 0, False), hidden), False))
        answer = solve(rows, limits=Limits())
        verify(rows, answer)
        assert isinstance(answer, Point)
        total = [0] * variables
        for row in rows[::3]:
            for v, c in row.coefficients:
                total[v] += c
        contrary = Row(
            tuple((v, -c) for v, c in enumerate(total) if c), -sum(row.constant for row in rows[::3]) - 1, False
        )
        answer = solve([*rows, contrary], limits=Limits())
        verify([*rows, contrary], answer)
        assert isinstance(answer, Infeasible)


def test_cycling() -> None:
    """The simplex method cycles where choices tie (Beale), or walks all corners of a twisted cube (Klee and Minty)."""
    beale = system(
        "x1 >= 0, x2 >= 0, x3 >= 0, x4 >= 0, x3 <= 1, x1 - 240*x2 - 4*x3 + 36*x4 <= 0, x1 - 180*x2 - x3 + 6*x4 <= 0"
    )
    answer = minimize(beale, ((0, -75), (1, 15000), (2, -2), (3, 600)), limits=Limits(work=20_000))
    assert isinstance(answer, Bound)
    derives_bound(beale, ((0, -75), (1, 15000), (2, -2), (3, 600)), answer)
    cube = [Row(((v, 1),), 0, False) for v in range(9)]
    for v in range(9):
        cube.append(Row((*[(u, -(2 ** (v - u + 1))) for u in range(v)], (v, -1)), 5 ** (v + 1), False))
    objective = tuple((v, -(2 ** (8 - v))) for v in range(9))
    answer = minimize(cube, objective, limits=Limits())
    assert isinstance(answer, Bound)
    assert answer.value == -(5**9)


def test_bound_uses_integrality_of_equalities() -> None:
    """A bound under equalities without unit coefficients is no better than that of the relaxation."""
    rows = system("3*x == 2*y, x >= 1")
    answer = minimize(rows, form("x"), limits=Limits())
    assert isinstance(answer, Bound)
    assert answer.value == 2


def test_small_points() -> None:
    """Points are needlessly far away where a near one is easy."""
    rows = system("3*x - 5*y + 7*z >= 10, 2*y - 3*z + w >= 4, x + y <= 3*w, 5*w - 7*z <= 20")
    answer = solve(rows, limits=Limits())
    assert isinstance(answer, Point)
    assert max(map(abs, answer.values)) <= 20


def test_budget_ends_the_search() -> None:
    """A search goes on past its budget instead of saying that it does not know."""
    hard = system("12223*a + 12224*b + 36674*c + 61119*d + 85569*e == 89643481, a >= 0, b >= 0, c >= 0, d >= 0, e >= 0")
    assert solve(hard, limits=Limits(work=100)) == Unknown("budget of work")
    assert minimize(hard, ((0, 1),), limits=Limits(work=10)) == Unknown("budget of work")
    assert isinstance(solve(hard, limits=Limits()), Infeasible)


def test_same_question_same_answer() -> None:
    """The answer to a question depends on something else than its rows."""
    for number in range(30):
        rows = random_system(random.Random(f"same {number}"))
        assert solve(rows, limits=Limits()) == solve(list(rows), limits=Limits())


def test_no_rows() -> None:
    """The empty system and rows without variables are the ends of every loop."""
    assert solve([], limits=Limits()) == Point(())
    assert solve([Row((), 0, True), Row((), 3, False)], limits=Limits()) == Point(())
    for row in (Row((), 1, True), Row((), -1, False)):
        answer = solve([row], limits=Limits())
        verify([row], answer)
        assert isinstance(answer, Infeasible)


BELOW_ONE = Refutation((Combine(((0, 1), (2, 1))),))


@pytest.mark.parametrize(
    "refutation",
    [
        pytest.param(Refutation((Combine(((0, 1), (1, 1))),)), id="a sum that is no contradiction"),
        pytest.param(Refutation((Combine(((0, -1),)), Combine(((0, 1), (2, 1))))), id="an inequality turned around"),
        pytest.param(Refutation((Combine(((0, 1), (3, 1))),)), id="a row that is not there"),
        pytest.param(Refutation((), Branch(((0, 1),), 0, BELOW_ONE, Refutation((Combine(((2, 1),)),)))), id="one side"),
    ],
)
def test_replay_rejects(refutation: Refutation) -> None:
    """The replay in these tests accepts a wrong certificate, so that none of them tests anything."""
    rows = system("x >= 1, x <= 5")
    with pytest.raises(AssertionError):
        replay(rows, refutation)
