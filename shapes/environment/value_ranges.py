"""Value ranges of expressions, remainders included.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=1)
    >>> env.bounds(s % 16), env.bounds(4 * (s % 16) - 1), env.bounds(-s)
    ((0, 15), (-1, 59), (None, -1))

The normal form writes `n % d` as `n - d*(n//d)`, whose two parts are far apart where their difference is small. So
whole remainders are taken out of the expression first: `k * (n % d)` is between 0 and `k * (d - 1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from solver.knowledge.facts import Facts
from solver.terms import intervals
from solver.terms.expr import Expr
from solver.terms.intervals import Interval

DEPTH = 3


def bounds(facts: Facts, expr: Expr, depth: int = DEPTH) -> Interval:
    """The tightest bounds among those of the whole and those with remainders taken out."""
    found = facts.bounds(expr)
    if depth and (found[0] is None or found[0] != found[1]):
        for divisor, scale, rest in _remainders(expr):
            low, high = bounds(facts, rest, depth - 1)
            least, most = intervals.product(_of_remainder(facts, divisor), (scale, scale))
            low = None if low is None or least is None else low + least
            high = None if high is None or most is None else high + most
            found = intervals.meet(found, (low, high))
    return found


def _remainders(expr: Expr) -> Iterator[tuple[Expr, int, Expr]]:
    """Divisors d, factors k and rests with `expr == k * (n % d) + rest`, where the rest does without the division."""
    coefficients = dict(expr.terms)
    for atom in sorted(expr.atoms, key=lambda atom: atom.serial):
        match atom.kind, atom.args:
            case "floordiv", (Expr() as n, Expr() as d):
                product = d * atom.expr
                if not product.terms:
                    continue
                monomial, c = product.terms[0]
                k, left = divmod(-coefficients.get(monomial, 0), c)
                rest = expr - k * (n - product)
                if k and not left and atom not in rest.atoms:
                    yield d, k, rest


def _of_remainder(facts: Facts, d: Expr) -> Interval:
    """The range of `n % d`, for a divisor that is not zero."""
    lo, hi = facts.bounds(d)
    if lo is not None and lo >= 0:
        return 0, None if hi is None else max(hi - 1, 0)
    if hi is not None and hi <= 0:
        return None if lo is None else min(lo + 1, 0), 0
    return None if lo is None else lo + 1, None if hi is None else hi - 1
