"""Prove propositions by interval arithmetic and excluded values.

    >>> from solver.knowledge.by_intervals import prove_by_intervals
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, 9)
    >>> print(prove_by_intervals(known, terms.ne(3 * s, 5)).conclusion, prove_by_intervals(known, terms.gt(s, 2)))
    True None
"""

from __future__ import annotations

from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_bound, prove_side
from solver.knowledge.multiples import prove_no_multiple
from solver.proofs.step import ProofStep, apart, equal, every, some
from solver.terms.expr import Expr
from solver.terms.prop import SHARING, Prop


def prove_by_intervals(known: Knowledge, p: Prop) -> ProofStep | None:
    """The proposition, if bounds and excluded values prove it."""
    match p.kind:
        case "true":
            return ProofStep("trivial", p)
        case "ge":
            low = known.low(p.expr)
            return prove_side(known, p.expr, True, 0) if low is not None and low >= 0 else None
        case "eq":
            low, high = known.low(p.expr), known.high(p.expr)
            if low == 0 == high:
                return equal(prove_side(known, p.expr, True, 0), prove_side(known, p.expr, False, 0))
            return None
        case "ne":
            return prove_nonzero(known, p)
        case "and" | "or" if p.written > SHARING:
            return _prove_shared(known, p)
        case "and":
            proofs = []
            for part in p.parts:
                proof = prove_by_intervals(known, part)
                if proof is None:
                    return None
                proofs.append(proof)
            return every(p, proofs)
        case "or":
            for part in p.parts:
                proof = prove_by_intervals(known, part)
                if proof is not None:
                    return some(p, proof)
            return None
        case _:
            return None


def _prove_shared(known: Knowledge, p: Prop) -> ProofStep | None:
    """A compound with shared nodes: each is tried once."""
    proofs: dict[Prop, ProofStep | None] = {}
    for node in p.nodes:
        if not node.parts:
            proofs[node] = prove_by_intervals(known, node)
            continue
        found = [proof for proof in [proofs[part] for part in node.parts] if proof is not None]
        if node.kind == "and":
            proofs[node] = every(node, found) if len(found) == len(node.parts) else None
        else:
            proofs[node] = some(node, found[0]) if found else None
    return proofs[p]


def prove_between_multiples(known: Knowledge, p: Prop) -> ProofStep | None:
    """`a*rest + c != 0`, if 0 < c < a: no multiple of a but zero is that close to zero."""
    e = p.expr
    size = abs(e.constant)
    monomials = known.interner.monomials
    first, *others = [monomials[m] for m, _ in e.terms]
    if not others and len(first) == 1:
        return None
    for atom in first:
        r = known.range_of(atom.monomial)
        if r.lo is not None and r.lo > size and all(atom in atoms for atoms in others):
            return ProofStep("multiple", p, (prove_bound(known, atom.monomial, True, size + 1),), atom)
    return None


def bounded_away(known: Knowledge, e: Expr) -> bool:
    """Return True if bounds alone show `e != 0`, where no proof is needed."""
    low = known.low(e)
    if low is not None and low > 0:
        return True
    high = known.high(e)
    return high is not None and high < 0


def prove_nonzero(known: Knowledge, p: Prop) -> ProofStep | None:
    """`e != 0`, if e is bounded away from zero, zero is excluded, or its factors are nonzero."""
    e = p.expr
    if e.constant and e.terms:
        between = prove_between_multiples(known, p)
        if between is not None:
            return between
    low = known.low(e)
    if low is not None and low > 0:
        return apart(prove_side(known, e, True, 1), p)
    high = known.high(e)
    if high is not None and high < 0:
        return apart(prove_side(known, e, False, -1), p)
    if known.excluded.count:
        values, k = known.excluded_values(e)
        if values is not None and e.constant % k == 0:
            proof = values.get(-e.constant // k)
            if proof is not None:
                return proof
        if any(c > 1 or c < -1 for _, c in e.terms):
            multiple = prove_no_multiple(known, p)
            if multiple is not None:
                return multiple
    if len(e.terms) == 1 and not e.constant and len(known.interner.monomials[e.terms[0][0]]) > 1:
        factors = []
        for atom in dict.fromkeys(known.interner.monomials[e.terms[0][0]]):
            factor = prove_nonzero(known, Prop.zero(atom.expr).negation)
            if factor is None:
                return None
            factors.append(factor)
        return ProofStep("product-nonzero", p, tuple(factors))
    return None
