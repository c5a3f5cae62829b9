"""Value ranges of expressions, remainders and choices included.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=1)
    >>> env.bounds(s % 16), env.bounds(4 * (s % 16) - 1), env.bounds("min(s, 64)")
    ((0, 15), (-1, 59), (1, 64))

The normal form writes `n % d` as `n - d*(n//d)` and `min(a, b)` as `a - relu(a - b)`, whose two parts are far apart
where their difference is small. So whole remainders are taken out of the expression first: `k * (n % d)` is between 0
and `k * (d - 1)`. And an expression with a choice is one of two without it: their minimum where the choice
only makes it smaller, their maximum where it only makes it larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from solver.knowledge.facts import Facts
from solver.terms import intervals
from solver.terms.atoms import arguments, interval_of_atom, intervals_of_product
from solver.terms.expr import Atom, Expr
from solver.terms.intervals import Interval
from solver.terms.monomials import without

REWRITTEN: Final = 48
"""The number of expressions that are searched for remainders and choices, to bound one."""


def bounds(facts: Facts, expr: Expr) -> Interval:
    """The tightest bounds among those of the whole and those with remainders and choices taken out."""
    return Ranges(facts).of(expr)


class Ranges:
    """The ranges of an expression and of those that it is rewritten to."""

    __slots__ = ("facts", "known", "left")

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.known: dict[Expr, Interval] = {}
        self.left = REWRITTEN

    def of(self, expr: Expr) -> Interval:
        """The range of an expression, equalities applied."""
        expr, _ = self.facts.canonical(expr)
        found = self.known.get(expr)
        if found is None:
            found = self.facts.expr_interval(expr)
            if self.left > 0 and expr.schedule and (found[0] is None or found[0] != found[1]):
                self.left -= 1
                found = self._narrowed(expr, found)
            self.known[expr] = found
        return found

    def _narrowed(self, expr: Expr, found: Interval) -> Interval:
        for divisor, scale, rest in _remainders(expr):
            part = intervals.product(_of_remainder(self.facts, divisor), (scale, scale))
            found = intervals.meet(found, _sum(self.of(rest), part))
        choice = _outermost_choice(expr)
        if choice is not None:
            return intervals.meet(found, self._of_choice(expr, choice))
        return intervals.meet(found, self._of_parts(expr))

    def _of_choice(self, expr: Expr, choice: Atom) -> Interval:
        """The range of `rest + k*choice`, where the choice is 0 or its last argument."""
        (chosen,) = (arg for arg in choice.args if isinstance(arg, Expr))
        rest = expr.replace({choice: expr.interner.constant(0)})
        off, on = self.of(rest), self.of(expr.replace({choice: chosen}))
        low, high = intervals.hull(off, on)
        sign = self._sign(expr, choice) if choice.kind == "relu" else 0
        if not sign:
            return low, high
        # the maximum, or minimum, of both and of what lies between them
        tighter = intervals.meet(off, on)
        for factor in _cancelling(rest, chosen, dict(expr.terms).get(choice.monomial, 0)):
            tighter = intervals.meet(tighter, self.of(rest + chosen * factor))
        return (tighter[0], high) if sign > 0 else (low, tighter[1])

    def _sign(self, expr: Expr, atom: Atom) -> int:
        """1 where the factor of an atom is never negative, -1 where it is never positive, otherwise 0."""
        interner = expr.interner
        signs = set()
        for m, c in expr.terms:
            atoms = interner.monomials[m]
            if atom in atoms:
                others = without(atoms, (atom,))
                if atom in others:
                    return 0
                lo, hi = self.facts.interval(interner.monomial(others)) if others else (1, 1)
                if lo is not None and lo >= 0:
                    signs.add(1 if c > 0 else -1)
                elif hi is not None and hi <= 0:
                    signs.add(-1 if c > 0 else 1)
                else:
                    return 0
        return signs.pop() if len(signs) == 1 else 0

    def _of_parts(self, expr: Expr) -> Interval:
        """The sum of the ranges of its terms, by those of the arguments of their operations."""
        total: Interval = (expr.constant, expr.constant)
        for m, c in expr.terms:
            part = intervals_of_product(expr.interner.monomials[m], self._of_atom)
            part = intervals.meet(self.facts.interval(m), part)
            total = _sum(total, intervals.product(part, (c, c)))
        return total

    def _of_atom(self, monomial: int) -> Interval:
        (atom,) = self.facts.interner.monomials[monomial]
        known = self.facts.interval(monomial)
        if not arguments(atom) or self.left <= 0:
            return known
        return intervals.meet(known, interval_of_atom(atom, self.of))


def _sum(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    high = None if a[1] is None or b[1] is None else a[1] + b[1]
    return low, high


def _outermost_choice(expr: Expr) -> Atom | None:
    """A factor `relu(e)` or `e if p else 0` of one of the terms, of these the deepest."""
    monomials = expr.interner.monomials
    factors = dict.fromkeys(atom for m, _ in expr.terms for atom in monomials[m] if atom.kind in ("relu", "ite"))
    return min(factors, key=lambda atom: (-atom.depth, atom.expr.order), default=None)


def _cancelling(rest: Expr, chosen: Expr, factor: int) -> list[int]:
    """Numbers k between 0 and the factor for which `rest + k*chosen` has fewer terms."""
    coefficients = dict(rest.terms)
    found = {divmod(-coefficients.get(m, 0), c) for m, c in chosen.terms}
    return sorted(k for k, left in found if not left and min(0, factor) < k < max(0, factor))


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
