"""Floor division in one canonical form.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s, t = terms.symbol("s"), terms.symbol("t")
    >>> (8 * s + 16 * t + 5) // 8 is s + 2 * t
    True
    >>> -(-s // 4) is (s + 3) // 4
    True
    >>> (s // 4 + 3) // 5 is (s + 12) // 20
    True
    >>> (6 * s * t + 4 * s) // (2 * s) is 3 * t + 2
    True

For a constant divisor d > 0 and numerator n = d*q + r with the coefficients of r smaller than d (of the sign they had:
`3*s // 5` stays monotone), `n // d = q + r // d`; the gcd of r's coefficients and d is cancelled (the constant
floored), the leading coefficient made positive by `-r // d = -((r + d - 1) // d)`, and nested divisions folded by
`(x//a + c) // b = (x + a*c) // (a*b)`. For a symbolic divisor common content, monomials and factors are cancelled and
polynomial multiples of the divisor taken out. All of it holds for every sign; a zero divisor is outside the domain.
"""

from __future__ import annotations

from math import gcd

from solver.terms.expr import Expr, TermTable
from solver.terms.monomials import shared
from solver.terms.polynomials import exact_quotient, factors_of
from solver.terms.quotients import common_atoms, divide, divide_atoms, divide_content


def divided(terms: TermTable, n: Expr, d: Expr) -> Expr:
    """`n // d`, rounding down. A divisor that is the constant 0 gives 0: its domain is false."""
    if not d.terms:
        if d.constant == 0:
            return terms.zero
        if d.constant < 0:
            return by_constant(terms, -n, -d.constant)
        return by_constant(terms, n, d.constant)
    return by_expression(terms, n, d)


def by_constant(terms: TermTable, n: Expr, d: int) -> Expr:
    """`n // d` for d > 0."""
    if d == 1:
        return n
    if not n.terms:
        return terms.constant(n.constant // d)
    quotient, constant = divmod(n.constant, d)
    whole: dict[int, int] = {}
    rest: dict[int, int] = {}
    for m, c in n.terms:
        if -d < c < d:
            rest[m] = c
            continue
        q = c // d if c > 0 else -(-c // d)
        whole[m] = q
        if c != q * d:
            rest[m] = c - q * d
    if not rest:
        return terms.collect(whole, quotient)
    common = gcd(d, *rest.values())
    if common > 1:
        rest = {m: c // common for m, c in rest.items()}
        constant //= common
        d //= common
        if d == 1:
            return terms.add(terms.collect(whole, quotient + constant), terms.collect(rest, 0))
    sign = 1
    remainder = terms.collect(rest, constant)
    if remainder.lead()[1] < 0:
        sign = -1
        remainder = terms.collect({m: -c for m, c in rest.items()}, d - 1 - constant)
    inner = _nested(terms, remainder)
    if inner is not None:
        numerator, divisor = inner
        value = by_constant(terms, numerator + divisor * remainder.constant, divisor * d)
    else:
        value = terms.atom("floordiv", (remainder, terms.constant(d)))
    return terms.add(terms.collect(whole, quotient), terms.scale(value, sign))


def _nested(terms: TermTable, e: Expr) -> tuple[Expr, int] | None:
    """`(x, a)` when e is `x // a` plus a constant, for a constant a."""
    if len(e.terms) != 1 or e.terms[0][1] != 1:
        return None
    atoms = terms.monomials[e.terms[0][0]]
    if len(atoms) != 1 or atoms[0].kind != "floordiv":
        return None
    numerator, divisor = atoms[0].args
    assert isinstance(numerator, Expr) and isinstance(divisor, Expr)
    return None if divisor.terms else (numerator, divisor.constant)


def by_expression(terms: TermTable, n: Expr, d: Expr) -> Expr:
    """`n // d` for a divisor with symbols."""
    if not n.terms and not n.constant:
        return terms.zero
    if n is d:
        return terms.one
    n, d = _cancel_factors(terms, *_cancel(terms, n, d))
    if not d.terms:
        return divided(terms, n, d)
    if d.lead()[1] < 0:
        n, d = -n, -d
    quotient, n = divide(terms, n, d)
    if not n.terms and not n.constant:
        return quotient
    if quotient is not terms.zero:
        n, d = _cancel(terms, n, d)
        if not d.terms:
            return terms.add(quotient, divided(terms, n, d))
    return terms.add(quotient, terms.atom("floordiv", (n, d)))


def _cancel(terms: TermTable, n: Expr, d: Expr) -> tuple[Expr, Expr]:
    """Both sides divided by their common content and their common monomial."""
    content = gcd(n.content(), n.constant, d.content(), d.constant)
    if not n.constant and not d.constant:
        common = shared(common_atoms(terms, n), common_atoms(terms, d))
        if common:
            n, d = divide_atoms(terms, n, common), divide_atoms(terms, d, common)
    if content > 1:
        n, d = divide_content(n, content), divide_content(d, content)
    return n, d


def _cancel_factors(terms: TermTable, n: Expr, d: Expr) -> tuple[Expr, Expr]:
    """Both sides divided by the sums that are factors of both: `a*(q + 1)` over `b*(q + 1)` is a over b."""
    if d.degree < 2 or len(n.terms) + (n.constant != 0) < 2 or len(d.terms) + (d.constant != 0) < 2:
        return n, d
    sums = d if d.constant else divide_atoms(terms, d, common_atoms(terms, d))
    content = gcd(sums.content(), sums.constant)
    if content > 1:
        sums = divide_content(sums, content)
    for factor, power in factors_of(sums):
        for _ in range(power if factor.terms and factor is not d else 0):
            over, under = exact_quotient(n, factor), exact_quotient(d, factor)
            if over is None or under is None:
                break
            n, d = over, under
    return n, d
