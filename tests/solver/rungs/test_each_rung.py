"""Each procedure alone, or with those that finish its smaller goals: one row per idea."""

from __future__ import annotations

import pytest

from solver.decide.rungs import TABLE
from solver.decide.verdict import Always, Depends, Never
from solver.proofs.checker import verify
from solver.proofs.step import ProofStep
from solver.rungs.effort import RUNGS
from tests.solver.asked import asked

HELP = {
    "isolate": ("shift", "bounds"),
    "factor": ("shift", "linear", "bounds"),
    "split": ("shift", "remainder", "extremes", "factor", "bounds"),
}
"""Rungs that only make goals smaller need others for what is left."""

ALONE = {
    "shift": [
        "b 2.. s 2..; b*s >= b + s",
        "a 1.. b 1.. c 1..; a*b*c + 2 >= a + b + c",
        "x 0..9 y 0..; (9 - x)*y >= 0",
        "x 3..; x*x >= 3*x",
        "x 1.. y 1..; x*y + 1 != 0",
        "n 1..100 m 1..; n*m <= 100*m",
    ],
    "remainder": [
        "n 0.. d 1.. i 0..; i < d; n//d*i <= n",
        "n 0.. d 1.. i 0..; i < d; n//d*(i + 1) - n <= 0",
        "n ..; 2*(n//4) <= n//2",
        "n ..; n//3 - 5*(n//15) <= 4",
        "x .. y ..; x//2 + y//2 <= (x + y)//2",
        "a 0.. b 0.. c 1..; a//c*b <= a*b",
        "n 0.. d 1..; d*((n + d - 1)//d) - n < d",
        "n .. d 1.. m 2..; m*d*(n//d) <= m*n",
        "a 2.. b 2.. u 0.. v 0..; min(a, u) + min(b, v)*a >= 0",
    ],
    "differences": [
        "a .. b .. c .. d ..; a <= b; b <= c; c <= d; a <= d",
        "a .. b .. c .. d .. e ..; a < b; b < c; c < d; d < e; e >= a + 4",
        "a .. b .. c .. u 1.. v 2..; a + u <= b; b + v <= c; c >= a + 3",
        "a .. b .. c .. d ..9; a <= b - 1; b <= c - 1; c <= d - 1; a <= 6",
    ],
    "elimination": [
        "a 0.. b 0.. c 0.. m 0..; a <= m; b <= m; c <= m; a + b + c <= 3*m",
        "s 1.. t 1.. u 1.. i 0.. j 0.. k 0..; i < s; j < t; k < u; i*t*u + j*u + k < s*t*u",
        "a 0.. b 0.. c 0.. t 1..; (a + t - 1)//t*t + (b + t - 1)//t*t + (c + t - 1)//t*t >= a + b + c",
        "a 0.. b 0.. c 0.. d 0..; a + b + c + d <= 4*max(a, b, c, d)",
        "a 0.. b 0.. c 0.. d 0.. e 0..; max(a, b, c, d, e) == max(e, d, c, b, a)",
        "a 0.. b 0.. c 0.. k 0..; max(a*k, b*k, c*k) == k*max(a, b, c)",
        "k 0.. n 0.. p .. s .. t ..; k*min(max(s + min(max(t + p, 0), n), 0), n) <= k*n",
    ],
    "linear": [
        "x 0.. y 0.. z 0..; x <= y; 2*y <= z; x + y <= z",
        "x .. y .. z ..; x < y; y < z; x + 2 <= z",
        "x .. y ..; 2*x + 3*y >= 7; x - y <= 1; y <= 1; x == 2",
        "x ..; x//3*3 <= x",
        "x 0.. y 0..; 4*x + 6*y == 18; x != 1",
        "n 1.. i 0..; i < n; i//4 <= (n - 1)//4",
        "x .. y ..; 3*x - 3*y >= 1; 3*x - 3*y >= 3",
    ],
    "box": [
        "x 0..15 y 0..15; x | y <= 15",
        "x -9..4 y -10..-1; x % y <= 0",
        "x -12..12 y -12..12; x*x + y*y != 7",
        "a 1..4 b 1..4 c 1..4 d 1..4; a + b + c + d == 10; a*b*c*d == 24; max(a, b, c, d) == 4",
        "k 0..8; (256 >> k)*(1 << k) == 256",
        "a 0..2 b 0..2 c 0..2; not (a != b and b != c and a != c) or a + b + c == 3",
    ],
    "residues": [
        "x .. y ..; x*x + y*y != 4*x*y + 3",
        "x ..; x*x % 4 <= 1",
        "x ..; x*(x + 1)*(x + 2) % 6 == 0",
        "x ..; x*x*x % 7 != 2",
        "x .. y ..; x*x - 5*y != 2",
        "n ..; n*(n + 1)//2*2 == n*n + n",
        "s 2..4 n 0..; n//s*s != 2**63 - 1",
        "a 5..14 b .. c ..; a*(b - 2*c) != 31",
    ],
    "extremes": [
        "a 0..9 b 0..9 c 0..9 d 0..9; max(a, b, c, d) <= 9",
        "a .. b .. c ..; min(a, b, c) <= b",
        "x ..; abs(x) >= x",
        "x .. y ..; x <= 3; y <= 5; max(x + 2, y) <= 5",
        "x .. y ..; x >= 1; y >= x; min(x, y) + max(x, y) >= 2",
        "n 0.. s 2..; min(16*(n//16), s) != 1",
        "n .. s 2.. t 3..; max(min(16*n, s), t) != 2",
    ],
    "isolate": [
        "n 0.. d 1.. k 0..; n < d*k; n//d < k",
        "n 0.. d 1..; n//d <= n",
        "a 0.. b 1.. c 0..; a >= b*c; a//b >= c",
        "n 0.. d ..-1 k 0..; n < -d*k; n//d > -k - 1",
    ],
    "factor": [
        "a 1.. b 1.. c 1..; (a*b//gcd(a, b)*c//gcd(a*b//gcd(a, b), c)) % c == 0",
        "u 1.. s 2..; s*(u - u//2) >= 2",
        "a 1.. b 1.. c 1..; a != b; c != 1; (a - b)*(c - 1) != 0",
        "a 0.. b 0..; a <= b; b*b >= a*a",
        "x .. y ..; x > y; x + y > 0; x*x > y*y",
        "a 0.. b 0.. c 0.. d 1..; a*c % d == 0; b*c % d == 0; a*c//d*b == b*c//d*a",
        "a .. b .. c .. d ..; a - b >= 2; c - d >= 3; (a - b)*(c - d) >= 6",
        "a .. b .. c .. d .. k 2..; a - b >= 2; d - c >= 3; 5*(a - b)*(d - c)*k > 59",
        "a .. b .. c .. d ..; a - b >= 2; c - d >= 3; (a - b)*(c - d) != 5",
        "x .. s 2.. t 2..; x*(2*x + 1)*(s*t - s + t) >= 0",
        "x .. y 3.. s 2.. t 2..; x*(3*x - 2)*(1 - y)*(s*t - s + t) <= 0",
    ],
    "split": [
        "a 0.. b 0.. c 0..; min(a, b)*min(b, c)*min(a, c) <= a*b*c",
        "a 2.. b 2..; a*b != max(max(a, b)//4, 1)*min(a, b)",
        "s 2.. u 0.. v 0.. w 0..; max(1, u, v, w)*s > max(u, v, w)",
        "a 1.. b 1..; min(a, b)**2//2 != 1",
        "a 0.. b 0..; min(a, b)**2//2 <= min(a, b)**2",
        "x 0..; x*x//2 != 2**63 - 1",
        "x 0..; x**3//2 != 5",
    ],
    "refine": [
        "x .. y .. z ..; min(max(x, y), max(x, z)) == max(x, min(y, z))",
        "x .. y ..; x*x + y*y >= 2*x*y + x - y",
        "a .. b .. c ..; a*a + b*b + c*c >= a*b + b*c + c*a",
        "a 1.. b 1.. c 1..; a*(b - c)*(b - c) + b*(c - a)*(c - a) >= 0",
        "x .. n 1..; x*x <= n; x <= n",
        "x .. y ..; x == 1 or x == 3 or x == 8; y == x or y == x + 1; y <= 9",
        "x .. d ..; abs(x % d) < abs(d)",
        "n 1..; n*n % (n + 1) == 1",
        "a .. b .. c .. d ..; a*b == c*d; a != 0; c == a; b == d",
        "x ..; not (x*x - 5*x + 6 == 0) or (x == 2 or x == 3)",
        "x 0.. y 0..; (x & y) <= min(x, y)",
        "x .. y ..; abs(x) <= 5; abs(x - y) <= 2; x*y <= 35",
        "x .. y ..; not (max(x, y) <= 5) or (x <= 5 and y <= 5)",
        "a 1.. b 1..; max(a, b) >= 8; min(a, b) <= 2; a//4 >= 2; b <= 2",
        "x 0.. y ..; x % 6 == 4; y == x//2; y % 3 == 2",
    ],
}


@pytest.mark.parametrize(("rung", "line"), [(rung, line) for rung, lines in ALONE.items() for line in lines])
def test_a_rung_proves_it(rung: str, line: str) -> None:
    """If this fails, a rung has lost something that it is there for, or its proof does not check."""
    verdict = asked(line).verdict(rung, *HELP.get(rung, ("bounds",)))
    assert isinstance(verdict, (Always, Never)), f"{line}: {verdict!r}"


SIMPLIFIED = [
    "u ..; min(16*((u + 15)//16), u) == u",
    "u 0.. v 0..; min(16*((u + 15)//16), u)*min(8*((v + 7)//8), v) == u*v",
    "n 0.. d 1..; min(n, (n + d - 1)//d*d) == n",
    "n 0.. d 1.. i 0..; i < d; max(min(n//d*(i + 1), n) - min(n, n//d*i), 0) == n//d",
    "s .. x 0.. y 0..; max(min(s, x + y) - min(s, x), 0) == min(s, x + y) - min(s, x)",
    "n .. m ..; n//2 <= 2*(n//4); m//2 <= 2*(m//4); (n//2)*(m//2) == 4*(n//4)*(m//4)",
    "x .. d 1..; (x + (d - x % d) % d)//d*d >= x",
]
BY_FACTORS = [
    "s 2.. u 0.. t 2..; (max(min(s, u + 1) - min(s, u), 0) + u)**2*t != 0",
    "s 2.. u 0.. t 2..; (max(min(s, u + 1) - min(s, u), 0) + u)**2*t >= 2",
    "n 2.. d 2.. k 0.. t 2..; min(max((n*k + d - 1)//d, 1), n)*t*d != min(max((n*k + d - 1)//d, 1), n)*t",
    "a 2.. b 2.. c 2..; c*b*a != max(1, b - 1 - a)*c",
]


def test_an_atom_that_all_terms_share_is_a_factor() -> None:
    """If this fails, `a*(2*b + 1) != 0` is searched for as a whole, at twice the price."""
    verdict = asked("a .. b 2.. d 2.. e .. f ..; b*(d + 1) == e*f*a; 2*a*b + a != 0").verdict()
    assert isinstance(verdict, Always)
    assert verdict.rung == "factor"


@pytest.mark.parametrize("line", BY_FACTORS)
def test_clamps_are_factors(line: str) -> None:
    """If this fails, a product of clamps is left to a search that has its price."""
    verdict = asked(line).verdict("bounds", "shift", "remainder", "extremes", "factor")
    assert isinstance(verdict, (Always, Never)), f"{line}: {verdict!r}"



@pytest.mark.parametrize("line", SIMPLIFIED)
def test_clamps_are_settled_where_they_are_met(line: str) -> None:
    """If this fails, a question about sizes that depend on data needs a search again, where rewriting was enough."""
    verdict = asked(line).verdict("bounds", "shift", "remainder")
    assert isinstance(verdict, Always), f"{line}: {verdict!r}"
    assert verdict.rung in ("syntactic", "substitution", "bounds", "shift", "remainder")


def test_a_changed_multiplier_is_refused() -> None:
    """If this fails, the checker accepts a division with remainder that does not add up."""
    verdict = asked("n 0.. d 1.. i 0..; i < d; n//d*i <= n").verdict("remainder", "bounds")
    assert isinstance(verdict, Always) and verdict.proof.rule == "combine"
    (first, *rest), slack = verdict.proof.data  # type: ignore[misc]
    for data in (((first + 1, *rest), slack), ((first, *rest), slack + 1)):
        forged = ProofStep("combine", verdict.proof.conclusion, verdict.proof.premises, data)
        assert not verify(forged, verdict.prop, verdict.domain)
    law = next(step for step in verdict.proof.premises if step.rule in ("axiom", "times"))
    forged = ProofStep("combine", verdict.proof.conclusion, (law, law), verdict.proof.data)
    assert not verify(forged, verdict.prop, verdict.domain)


def test_every_rung_is_tried() -> None:
    """If this fails, a rung proves its rows above, where it is asked for by name, and no question ever tries it."""
    assert {rung.name for rung in TABLE} <= RUNGS
    assert RUNGS >= ALONE.keys()


@pytest.mark.parametrize("rung", list(ALONE))
def test_a_rung_is_needed(rung: str) -> None:
    """If this fails, rows listed as needing a rung do not: the facts and its auxiliary rungs decide all of them."""
    left = [asked(line).verdict(*HELP.get(rung, ("bounds",))) for line in ALONE[rung]]
    assert not all(isinstance(verdict, (Always, Never)) for verdict in left)


OPEN = [
    "x 0.. y 0..; x <= y",
    "x 1.. y 1..; x*y == 36; x == y",
    "x .. y .. z ..; x <= y; y <= z; z <= x; x + y + z == 9",
    "x 1..1024 y 1..; x*y <= (x + y)*1023",
    "a 0.. b 1..; a % b == b - 1",
    "x ..; x % 3 == 2; x % 5 == 3; x % 7 == 2; x == 128",
    "x .. y ..; 1000003*x + 999983*y == 1",
    "x .. y .. z ..; x + y == 3 and y + z == 4 and x + z == 5",
    "u0 0..9223372036854775807 s 1..; u0 <= s; u0 == 9223372036854775807",
    "n 0.. d 1.. i 0..; i < d; n//d*(i + 1) == 2**63 - 1",
    "i 1..; i*(i % 3) == 2**63 - 1",
    "x 0.. y 0..; max(1, x)*(y + 1) == 2**63 - 1",
    "a 2.. b 2.. u 0.. v 0.. w 0.. t 0..; max(min(a, u + v) - min(a, u), 1)*max(min(b, w + t) - min(b, w), 1) == a*b",
    "x .. y ..; x >= 2**63 - 1 and y >= 2**63 - 1 and x + y <= 2**64 - 2",
]


@pytest.mark.parametrize("line", OPEN)
def test_open_questions_have_witnesses(line: str) -> None:
    """If this fails, a question that depends on the sizes is unknown, or its witnesses are wrong."""
    assert isinstance(asked(line).verdict(), Depends)
