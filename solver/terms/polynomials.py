"""Expressions as products of expressions: the exact factors that `solver.terms.factors` finds.

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.polynomials import factors_of
    >>> terms = Interner()
    >>> a, b, c = (terms.symbol(name) for name in "abc")
    >>> [(str(factor), power) for factor, power in factors_of(a * c - b * c - a + b)]
    [('a - b', 1), ('c - 1', 1)]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Final

from solver.terms.expr import Atom, Expr
from solver.terms.factors import SPLIT, parts
from solver.terms.quotients import divide

ATOMS: Final = 4
"""Linear factors are looked for in polynomials of this many atoms at most."""
QUADRATIC: Final = 2000
"""A quadratic polynomial of more terms is not factored."""
SAMPLES: Final = (1009, 2003, 3019, 5009)


def factors_of(e: Expr) -> list[tuple[Expr, int]]:
    """The factors of an expression with their powers; the expression alone if none were found."""
    if len(e.terms) > (QUADRATIC if e.degree == 2 else SPLIT) or len(e.terms) < 2 or e.degree < 2:
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


def all_factors_of(e: Expr) -> list[tuple[Expr, int]]:
    """The factors with their powers, sums and differences of two or three atoms looked for too."""
    found: list[tuple[Expr, int]] = []
    waiting = factors_of(e)
    while waiting:
        factor, power = waiting.pop(0)
        linear = linear_factor(factor)
        if linear is None:
            found.append((factor, power))
        else:
            waiting = [(linear[0], power), *[(each, power * times) for each, times in factors_of(linear[1])], *waiting]
    merged: dict[Expr, int] = {}
    for factor, power in found:
        merged[factor] = merged.get(factor, 0) + power
    return list(merged.items())


def product_of(factors: Iterable[tuple[Expr, int]], one: Expr) -> Expr:
    """The product of powers."""
    total = one
    for factor, power in factors:
        for _ in range(power):
            total = total * factor
    return total


def linear_factor(e: Expr) -> tuple[Expr, Expr] | None:
    """`(f, q)` with `e == f*q`, f a sum or difference of two or three atoms, if there is such a factor.

    f divides e if and only if e vanishes where f does; a few numbers show first where that is not so.
    """
    monomials = e.interner.monomials
    atoms = sorted({atom for m, _ in e.terms for atom in monomials[m]}, key=lambda atom: atom.key)
    if e.degree < 2 or not 2 <= len(atoms) <= ATOMS or len(e.terms) > SPLIT:
        return None
    values = dict(zip(atoms, SAMPLES))
    for position, atom in enumerate(atoms):
        others = atoms[position + 1 :]
        pairs = [(b, None) for b in others] + [(b, c) for b, c in combinations([a for a in atoms if a is not atom], 2)]
        for b, c in pairs:
            for sign_b, sign_c in ((1, 1), (-1, 1)) if c is None else ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                if e.at({**values, atom: sign_b * values[b] + (sign_c * values[c] if c is not None else 0)}):
                    continue
                image = sign_b * b.expr + (sign_c * c.expr if c is not None else e.interner.zero)
                if e.replace({atom: image}) is e.interner.zero:
                    divisor = atom.expr - image
                    if divisor.lead()[1] < 0:
                        divisor = -divisor
                    quotient = exact_quotient(e, divisor)
                    if quotient is not None:
                        return divisor, quotient
    return None


def exact_quotient(e: Expr, divisor: Expr) -> Expr | None:
    """`q` with `e == q * divisor`."""
    quotient, rest = divide(e.interner, e, divisor)
    return quotient if rest is e.interner.zero and quotient is not e.interner.zero else None


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
