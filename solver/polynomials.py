"""Expressions as products of expressions: the exact factors that `solver.factors` finds.

    >>> from solver.interner import Interner
    >>> from solver.polynomials import factors_of
    >>> terms = Interner()
    >>> a, b, c = (terms.symbol(name) for name in "abc")
    >>> [(str(factor), power) for factor, power in factors_of(a * c - b * c - a + b)]
    [('a - b', 1), ('c - 1', 1)]
"""

from __future__ import annotations

from collections.abc import Mapping

from solver.expr import Atom, Expr
from solver.factors import SPLIT, parts


def factors_of(e: Expr) -> list[tuple[Expr, int]]:
    """The factors of an expression with their powers; the expression alone if none were found."""
    if len(e.terms) > SPLIT or len(e.terms) < 2 or e.degree < 2:
        return [(e, 1)]
    monomials = e.interner.monomials
    atoms = {atom.serial: atom for m, _ in e.terms for atom in monomials[m]}
    poly = {tuple(sorted([atom.serial for atom in monomials[m]])): c for m, c in e.terms}
    if e.constant:
        poly[()] = e.constant
    found = parts(poly)
    if len(found) == 1 and found[0][1] == 1:
        return [(e, 1)]
    return [(_expression(e, part, atoms), power) for part, power in found]


def _expression(e: Expr, part: Mapping[tuple[int, ...], int], atoms: Mapping[int, Atom]) -> Expr:
    """A sum of products of numbered atoms as an expression."""
    interner = e.interner
    total = interner.zero
    for key, c in part.items():
        product = interner.constant(c)
        for serial in key:
            product = product * atoms[serial].expr
        total = total + product
    return total
