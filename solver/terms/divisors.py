"""The greatest common divisor in one canonical form.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> terms.gcd(6 * a, -4 * b) is 2 * terms.gcd(2 * b, 3 * a)
    True
    >>> terms.gcd(8 * a + 5, 8), terms.gcd(a, 0) is terms.absolute(a)
    (<1>, True)

It is nonnegative, 0 only for `gcd(0, 0)`, symmetric and the same for either sign of an argument. Common content and
common symbols are taken out, `gcd(k*a, k*b) = |k|*gcd(a, b)`, and what divides the other argument is the divisor
itself. Beside a constant the coefficients are reduced modulo it, a step of Euclid's algorithm (Knuth, The Art of
Computer Programming, 4.5.2).
"""

from __future__ import annotations

from math import gcd as gcd_of_integers
from typing import Final

from solver.terms.expr import Expr, TermTable
from solver.terms.monomials import shared
from solver.terms.operations import OPERATIONS
from solver.terms.polynomials import exact_quotient
from solver.terms.quotients import common_atoms, divide_atoms, divide_content

ABSOLUTE: Final = OPERATIONS["abs"]


def gcd(terms: TermTable, a: Expr, b: Expr) -> Expr:
    """`math.gcd(a, b)`."""
    content = gcd_of_integers(a.content(), a.constant, b.content(), b.constant)
    if content > 1:
        return terms.scale(gcd(terms, divide_content(a, content), divide_content(b, content)), content)
    a, b = sorted((_oriented(a), _oriented(b)), key=lambda e: (len(e.terms) > 0, e.order))
    if not a.terms and a.constant:
        reduced = _reduced(terms, b, a.constant)
        if not reduced.terms:
            return terms.constant(gcd_of_integers(a.constant, reduced.constant))
        if reduced is not b:
            return gcd(terms, a, reduced)
        return terms.atom("function", (a, b), "gcd")
    common = () if a.constant or b.constant else shared(common_atoms(terms, a), common_atoms(terms, b))
    if common:
        whole = terms.expr(((terms.monomial(common), 1),), 0)
        return terms.apply(ABSOLUTE, whole) * gcd(terms, divide_atoms(terms, a, common), divide_atoms(terms, b, common))
    for divisor, other in ((b, a), (a, b)):
        if other is divisor or other is terms.zero or exact_quotient(other, divisor) is not None:
            return terms.apply(ABSOLUTE, divisor)
    return terms.atom("function", (a, b), "gcd")


def _oriented(e: Expr) -> Expr:
    """The argument or its opposite: one of them stands for both."""
    return -e if (e.lead()[1] if e.terms else e.constant) < 0 else e


def _reduced(terms: TermTable, e: Expr, modulus: int) -> Expr:
    """`e` with coefficients of least absolute value modulo a positive integer."""
    half = (modulus - 1) // 2
    least = {m: (c + half) % modulus - half for m, c in e.terms}
    return terms.collect(least, (e.constant + half) % modulus - half)
