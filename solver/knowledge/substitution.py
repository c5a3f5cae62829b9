"""Rewrite an expression by known equalities; merge conditionals with one condition.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.substitution import by_equalities, merged
    >>> terms = Interner()
    >>> b, h, s = terms.symbol("b"), terms.symbol("h"), terms.symbol("s")
    >>> known = Facts.empty(terms).learn_prop(terms.eq(h, b * s))
    >>> sorted(str(e) for e in by_equalities(known, 2 * b * b * s))
    ['2*b*h']
    >>> p = terms.gt(h, 3)
    >>> str(merged(terms.ite(p, b, 0) + terms.ite(p, s, 1)))
    'b + s if h >= 4 else 1'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from solver.knowledge.facts import Facts
from solver.knowledge.symbols import by_age
from solver.terms.choice import ite
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

EQUALITIES: Final = 12
"""Equalities near an expression that are used."""
DEPTH: Final = 60
"""Largest depth of nested names that is expanded."""


def equalities(facts: Facts, e: Expr) -> list[Expr]:
    """Expressions that the facts equate with zero, near the given one, newest first."""
    near = e.symbols
    found: list[Expr] = []
    for fact in facts.records():
        for p in fact.prop.parts if fact.prop.kind == "and" else (fact.prop,):
            if p.kind == "eq" and not p.symbols.isdisjoint(near):
                found.append(p.expr)
        if len(found) >= EQUALITIES:
            break
    return found


def by_equalities(facts: Facts, e: Expr) -> Iterator[Expr]:
    """The expression with a product rewritten by an equality."""
    interner = e.interner
    for zero in equalities(facts, e):
        for m, c in zero.terms:
            if abs(c) == 1:
                term = interner.expr(((m, c),), 0)
                image = term - zero if c == 1 else zero - term
                replaced = with_product(e, interner.monomials[m], image)
                if replaced is not e:
                    yield replaced


def with_product(e: Expr, product: tuple[Atom, ...], image: Expr) -> Expr:
    """The expression with a product of atoms replaced wherever it divides a term."""
    interner = e.interner
    parts = [interner.constant(e.constant)]
    for m, c in e.terms:
        rest = list(interner.monomials[m])
        part = interner.expr(((m, c),), 0)
        if all(product.count(atom) <= rest.count(atom) for atom in product):
            for atom in product:
                rest.remove(atom)
            part = image * c
            for atom in rest:
                part = part * atom.expr
        parts.append(part)
    return interner.sum(parts)


def named(facts: Facts, e: Expr) -> Expr:
    """The canonical expression, with names replaced by their definitions."""
    canonical, _ = facts.canonical(e)
    for t in sorted([atom for atom in canonical.symbols if atom.definition is not None], key=by_age):
        assert t.definition is not None
        for x in sorted(t.definition.symbols, key=by_age):
            terms = facts.canonical(x.expr)[0].terms
            if len(terms) == 1 and terms[0][0] == t.monomial:
                canonical = with_multiple(canonical, t, terms[0][1], x)
    for _ in range(DEPTH):
        own = {atom: atom.definition for atom in canonical.symbols if atom.definition is not None}
        if not own:
            break
        canonical = canonical.substitute(own)
    return canonical


def with_multiple(e: Expr, t: Atom, k: int, x: Atom) -> Expr:
    """The expression with `k*t`, which is x, written as x, wherever the coefficient allows it."""
    interner = e.interner
    parts = [interner.constant(e.constant)]
    for m, c in e.terms:
        atoms = interner.monomials[m]
        times = atoms.count(t)
        if times and c % k**times == 0:
            part = interner.constant(c // k**times)
            for atom in atoms:
                part = part * (x.expr if atom is t else atom.expr)
            parts.append(part)
        else:
            parts.append(interner.expr(((m, c),), 0))
    return interner.sum(parts)


def merged(e: Expr) -> Expr:
    """Merge conditionals with the same condition."""
    interner = e.interner
    conditionals: dict[Prop, list[tuple[int, int, Expr]]] = {}
    for m, c in e.terms:
        atoms = interner.monomials[m]
        if len(atoms) == 1 and atoms[0].kind == "ite":
            p, value = atoms[0].args
            if isinstance(p, Prop) and isinstance(value, Expr):
                conditionals.setdefault(p, []).append((m, c, value))
    for p, found in conditionals.items():
        if len(found) > 1:
            taken = interner.expr(tuple(sorted([(m, c) for m, c, _ in found])), 0)
            e = e - taken + ite(interner, p, interner.sum([value * c for _, c, value in found]), interner.zero)
    return e
