"""Systems from the literature and from other solvers' suites, each in several orders of variables and rows.

A failure here means that a known kind of hard system is answered wrongly, without evidence, or not within its budget.
"""

import random
from itertools import combinations

import pytest

from solver.integer.certificate import Infeasible, Point, Row
from solver.integer.solving import solve
from solver.integer.work_budget import Limits
from tests.solver.integer.replay import system, verify

THIN_TETRAHEDRON = (
    "y >= 0, z >= y, 300000*x - 299998*y - z >= 100000, -150000*x + 149999*y + 100000 >= 0"  # the point (10000,) * 3
)
EMPTY_TETRAHEDRON = "y >= 0, 299*z >= 300*y, 89700*x - 89400*y - 299*z >= 29900, -897*x + 894*y + 598 >= 0"
HUGE = 2**64
INT64 = f"{-(2**63)} <= x <= {2**63 - 1}, {-(2**63)} <= y <= {2**63 - 1}"
SHADOW = "0 <= 3*b - a <= 7, 1 <= a - 2*b <= 5"
THIN_CONE = "300000*p - 299999*q >= 100000, -300000*p + 299998*q + 200000 >= 0"  # apex (10000, 10000)

CASES = [
    # source in words, rows, whether there is a point
    ("no rows bound the variable", "x >= x", True),
    ("thin slab between two lattice lines, unbounded", "1 <= 3*x - 3*y <= 2", False),
    ("thin slab without common factor", "1 <= 3*x - 5*y <= 1, 3*x + 5*y <= 2*z, x == 2*w", True),
    ("slab in three directions, unbounded", "1 <= 6*x + 10*y - 15*z <= 1, 2*x >= 3*y", True),
    ("slab whose form has a factor only modulo an equality", "x == 3*z + 1, 2 <= x + 3*y - 3*z + 3*w <= 3", False),
    ("parity", "2*x + 2*y == 2*z + 1", False),
    ("parity, through two equalities", "x + y == 2*u, x - y == 2*v + 1", False),
    ("parity, through inequalities", "x + y <= 2*u, x + y >= 2*u, x - y <= 2*v + 1, x - y >= 2*v + 1", False),
    ("residues modulo 6, 10 and 15 that agree", "x == 6*a + 5, x == 10*b + 1, x == 15*c + 11", True),
    ("residues modulo 6, 10 and 15 that do not", "x == 6*a + 5, x == 10*b + 1, x == 15*c + 7", False),
    ("chicken nuggets, 43", "6*x + 9*y + 20*z == 43, x >= 0, y >= 0, z >= 0", False),
    ("chicken nuggets, 44", "6*x + 9*y + 20*z == 44, x >= 0, y >= 0, z >= 0", True),
    ("two huge coins", f"{HUGE}*x + {HUGE + 1}*y == {HUGE * HUGE - HUGE - 1}, x >= 0, y >= 0", False),
    ("two huge coins, and one more", f"{HUGE}*x + {HUGE + 1}*y == {HUGE * HUGE - HUGE}, x >= 0, y >= 0", True),
    ("Omega test: two strips, rational points only", "27 <= 11*x + 13*y <= 45, -10 <= 7*x - 9*y <= 4", False),
    ("Omega test: equalities without unit coefficients",
     "7*x + 12*y + 31*z == 17, 3*x + 5*y + 14*z == 7, 1 <= x <= 40, -50 <= y <= 50", True),
    ("Omega test: below the dark shadow, in the real one", f"{SHADOW}, a == 4", False),
    ("Omega test: below the dark shadow, a splinter", f"{SHADOW}, a == 3", True),
    ("Omega test: in the dark shadow", f"{SHADOW}, a == 5", True),
    ("Omega test: above the dark shadow, in the real one", f"{SHADOW}, a == 28", False),
    ("Omega test: outside the real shadow", f"{SHADOW}, a >= 30", False),
    ("Presburger suite: 0 <= 7x <= 5", "0 <= 7*x <= 5", True),
    ("Presburger suite: 1 <= 5x <= 4", "1 <= 5*x <= 4", False),
    ("Presburger suite: 1 <= 5x <= 9", "1 <= 5*x <= 9", True),
    ("Presburger suite: x + 2y = 3z at its corner", "x <= 10, y <= 10, z >= 10, x + 2*y == 3*z", True),
    ("Presburger suite: x + 2y = 3z past its corner", "x <= 10, y <= 10, z >= 11, x + 2*y == 3*z", False),
    ("Presburger suite: quotient and remainder of 7 by 4", "0 <= r <= 3, 4*q + r == 7", True),
    ("Presburger suite: 7 is not a multiple of 4", "4*q + r == 7, r == 0", False),
    ("Presburger suite: triangle with the point (10000, 10000)",
     "y >= 0, 300000*x - 299999*y >= 100000, -300000*x + 299998*y + 200000 >= 0", True),
    ("Presburger suite: thin tetrahedron with one point", THIN_TETRAHEDRON, True),
    ("Presburger suite: thin tetrahedron with no point", EMPTY_TETRAHEDRON, False),
    ("Presburger suite: thin cone", THIN_CONE, True),
    ("Presburger suite: thin tetrahedron times thin cone", f"{THIN_TETRAHEDRON}, {THIN_CONE}", True),
    ("Presburger suite: empty tetrahedron times thin cone", f"{EMPTY_TETRAHEDRON}, {THIN_CONE}", False),
    ("Presburger suite: thin tetrahedron times nothing", f"{THIN_TETRAHEDRON}, 1 <= 3*p <= 2", False),
    ("Presburger suite: thin tetrahedron times residues", f"{THIN_TETRAHEDRON}, 1 <= p <= 2, p == 3*q + 3*r", False),
    ("Presburger suite: segment between lattice points", "0 <= x <= 100, 3*x - 3*y + 1 == 0", False),
    ("Presburger suite: thin parallelogram", "0 <= x <= 100, 3*x - 3*y + 2 >= 0, -3*x + 3*y >= 1", False),
    ("Presburger suite: a line", "2*x >= 1, x - y == 1, y == z", True),
    ("Chvatal: triangle of high rank, its lattice points cut off", "y <= 2000*x, y <= 2000 - 2000*x, y >= 1", False),
    ("Jeroslow: branching on variables needs a tree of 2**7 leaves",
     "2*a + 2*b + 2*c + 2*d + 2*e + 2*f + 2*g == 7, " + ", ".join(f"0 <= {v} <= 1" for v in "abcdefg"), False),
    ("floor division: (x + 7) // 8 * 8 >= x", "8*q <= x + 7, x + 7 <= 8*q + 7, 8*q <= x - 1", False),
    ("floor division of a floor division",
     "0 <= x - 6*q <= 5, 0 <= x - 2*a <= 1, 0 <= a - 3*b <= 2, q >= b + 1", False),
    ("huge bounds", f"3*c >= {3 * (2**60 - 1)}, c <= {2**60 - 2}", False),
    ("huge bounds met exactly", f"3*c >= {3 * (2**60 - 1)}, c <= {2**60 - 1}", True),
    ("huge coefficients", f"{2**64 + 13}*x - {2**65 + 1}*y == 1, x >= {2**70}", True),
    ("the largest sum of two signed 64 bit integers", f"{INT64}, x + y >= {2**64 - 2}", True),
    ("and one more", f"{INT64}, x + y >= {2**64 - 1}", False),
]  # fmt: skip


def orders(rows: list[Row]) -> list[list[Row]]:
    """The rows as written, backwards, and with variables and rows shuffled."""
    variables = 1 + max((v for row in rows for v, _ in row.coefficients), default=0)
    found = [rows, rows[::-1]]
    for seed in range(6):
        chance = random.Random(seed)
        names = chance.sample(range(variables), variables)
        renamed = [row._replace(coefficients=tuple(sorted((names[v], c) for v, c in row.coefficients))) for row in rows]
        found.append(chance.sample(renamed, len(renamed)))
    return found


def decided(rows: list[Row], *, feasible: bool) -> None:
    answer = solve(rows, limits=Limits())
    verify(rows, answer)
    assert isinstance(answer, Point if feasible else Infeasible)


@pytest.mark.parametrize(("text", "feasible"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_textbook(text: str, feasible: bool) -> None:
    """A system of the table is decided the wrong way or not at all."""
    for rows in orders(system(text)):
        decided(rows, feasible=feasible)


FROBENIUS = [
    # the largest number that is no sum of these; the hard ones after Aardal and Lenstra, Hard equality knapsacks
    ([6, 9, 20], 43),
    ([12223, 12224, 36674, 61119, 85569], 89643481),
    ([12228, 36679, 36682, 48908, 61139, 73365], 89716838),
    ([12137, 24269, 36405, 36407, 48545, 60683], 58925134),
    ([13211, 13212, 39638, 52844, 66060, 79268, 92482], 104723595),
    ([13429, 26850, 26855, 40280, 40281, 53711, 53714, 67141], 45094583),
    # these two are proved by branching on a form in all variables
    ([11948, 23330, 30635, 44197, 92754, 123389, 136951, 140745], 14215206),
    ([20601, 40429, 40430, 45415, 53725, 61919, 64470, 69340, 78539, 95043], 2329265),
]


@pytest.mark.parametrize(("coins", "largest"), FROBENIUS)
def test_frobenius_numbers(coins: list[int], largest: int) -> None:
    """Knapsacks that defeat branching on variables, at and just past the largest number without a solution."""
    nonnegative = [Row(((i, 1),), 0, False) for i in range(len(coins))]
    for amount in (largest, largest + 1):
        rows = [*nonnegative, Row(tuple(enumerate(coins)), -amount, True)]
        decided(rows, feasible=amount > largest)


@pytest.mark.parametrize("pigeons", [3, 4])
def test_pigeons(pigeons: int) -> None:
    """One more pigeon than holes, said pairwise: the relaxation is not empty, a case split is needed."""
    holes = pigeons - 1
    place = [[p * holes + h for h in range(holes)] for p in range(pigeons)]
    rows = [Row(((v, s),), int(s < 0), False) for line in place for v in line for s in (1, -1)]
    rows += [Row(tuple((v, 1) for v in line), -1, False) for line in place]
    rows += [
        Row(((place[p][h], -1), (place[q][h], -1)), 1, False)
        for h in range(holes)
        for p, q in combinations(range(pigeons), 2)
    ]
    decided(rows, feasible=False)
