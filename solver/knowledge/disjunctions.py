"""Constructive disjunction (Würtz and Müller): what follows from each part of a known disjunction is known.

    >>> from solver.knowledge.disjunctions import prove_nonnegative
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> known = Facts.empty(terms).declare_range(a, 1, None).declare_range(b, 1, None)
    >>> known = known.learn_prop(terms.disjunction([terms.eq(a, b), terms.eq(a, 1)]))
    >>> print(prove_nonnegative(known, b - a).conclusion)
    a <= b

A part proves an inequality if a multiple of it and the bounds of what is left do: no hypothesis is made.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_side
from solver.knowledge.laws import size_of
from solver.proofs.step import ProofStep, cases, combine, hypothesis
from solver.terms.expr import Expr
from solver.terms.prop import Prop

LOOKED: Final = 12
"""The number of newest facts about an atom that are examined."""
PARTS: Final = 8
TERMS: Final = 8


def prove_nonnegative(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` from every part of a disjunction about its atoms."""
    if not 1 <= len(e.terms) <= TERMS:
        return None
    monomials = known.interner.monomials
    seen: set[Prop] = set()
    for m, _ in e.terms:
        for atom in monomials[m]:
            uses = known.uses.get(atom.serial)
            for _ in range(LOOKED):
                if uses is None:
                    break
                p = uses.entry.prop
                if p.kind == "or" and len(p.parts) <= PARTS and p not in seen:
                    seen.add(p)
                    branches = _branches(known, e, p)
                    if branches is not None:
                        return cases(Prop.nonnegative(e), uses.entry.proof, branches)
                uses = uses.rest
    return None


def _branches(known: Knowledge, e: Expr, p: Prop) -> list[ProofStep] | None:
    """The proof of `e >= 0` from each part."""
    found = []
    for part in p.parts:
        proof = _from_part(known, e, part)
        if proof is None:
            return None
        found.append(proof)
    return found


def _from_part(known: Knowledge, e: Expr, part: Prop) -> ProofStep | None:
    if part.kind not in ("ge", "eq"):
        return None
    goal = Prop.nonnegative(e)
    terms = dict(e.terms)
    tried: set[int] = set()
    for m, c in part.terms:
        factor, left = divmod(terms.get(m, 0), c)
        if left or factor in tried or not factor or (factor < 0 and part.kind == "ge"):
            continue
        tried.add(factor)
        rest = e - part.expr * factor
        low = known.low(rest)
        if low is None or low < 0:
            continue
        premises, multipliers, constant = [hypothesis(part)], [factor], rest.constant
        if rest.terms:
            bound = prove_side(known, rest, True, 0)
            premises.append(bound)
            multipliers.append(size_of(rest))
            constant -= size_of(rest) * bound.conclusion.expr.constant
        if constant >= 0:
            proof = combine(premises, multipliers, constant)
            if proof.conclusion is goal:
                return proof
    return None
