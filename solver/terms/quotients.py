"""Polynomials divided by polynomials: contents, products of atoms, and leading terms.

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.quotients import divide
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> [str(e) for e in divide(terms, a * a + a * b + 1, a + b)]
    ['a', '1']
"""

from __future__ import annotations

from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.monomials import divides, shared, without


def divide_content(e: Expr, k: int) -> Expr:
    """`e` with every coefficient divided by k, which divides them all."""
    return e.interner.expr(tuple([(m, c // k) for m, c in e.terms]), e.constant // k)


def common_atoms(terms: TermTable, e: Expr) -> tuple[Atom, ...]:
    """The product of atoms that divides every monomial of an expression without constant."""
    if not e.terms:
        return ()
    common = terms.monomials[e.terms[0][0]]
    for m, _ in e.terms[1:]:
        if not common:
            break
        common = shared(common, terms.monomials[m])
    return common


def divide_atoms(terms: TermTable, e: Expr, common: tuple[Atom, ...]) -> Expr:
    """`e` with every monomial divided by a product of atoms that divides them all."""
    coefficients: dict[int, int] = {}
    constant = 0
    for m, c in e.terms:
        rest = without(terms.monomials[m], common)
        if rest:
            coefficients[terms.monomial(rest)] = c
        else:
            constant = c
    return terms.collect(coefficients, constant)


def divide(terms: TermTable, n: Expr, d: Expr) -> tuple[Expr, Expr]:
    """`(q, r)` with `n == q*d + r`; q is zero unless taking multiples of d out leaves fewer monomials.

    Multivariate division by the leading monomial of d; a step is taken only when the coefficients divide exactly.
    """
    monomials = terms.monomials
    lead, coefficient = d.lead()
    lead_atoms = monomials[lead]
    if len(d.terms) == 1 and not d.constant:
        return _divide_single(terms, n, lead_atoms, coefficient, d)
    quotient, rest = terms.zero, n
    for _ in range(2 * len(n.terms)):
        step = None
        for m, c in sorted(rest.terms, key=lambda term: terms.monomial_keys[term[0]], reverse=True):
            if c % coefficient == 0 and divides(lead_atoms, monomials[m]):
                atoms = without(monomials[m], lead_atoms)
                step = (
                    terms.expr(((terms.monomial(atoms), c // coefficient),), 0)
                    if atoms
                    else terms.constant(c // coefficient)
                )
                break
        if step is None:
            break
        quotient = terms.add(quotient, step)
        rest = terms.subtract(rest, terms.multiply(step, d))
        if len(rest.terms) > 2 * len(n.terms) + 4:
            break
    if len(rest.terms) + (rest.constant != 0) < len(n.terms) + (n.constant != 0):
        return quotient, rest
    return terms.zero, n


def _divide_single(terms: TermTable, n: Expr, atoms: tuple[Atom, ...], coefficient: int, d: Expr) -> tuple[Expr, Expr]:
    """Division by one term: each monomial that it divides gives its multiples."""
    whole: dict[int, int] = {}
    constant = 0
    monomials = terms.monomials
    size = abs(coefficient)
    for m, c in n.terms:
        if not divides(atoms, monomials[m]):
            continue
        q = c // size if c > 0 else -(-c // size)
        if q:
            rest = without(monomials[m], atoms)
            if coefficient < 0:
                q = -q
            if rest:
                whole[terms.monomial(rest)] = q
            else:
                constant = q
    quotient = terms.collect(whole, constant)
    if quotient is terms.zero:
        return quotient, n
    return quotient, terms.subtract(n, terms.multiply(quotient, d))
