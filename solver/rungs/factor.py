"""Common factors: prove something about each factor instead of about the product.

An atom that every monomial shares and that is known positive (or nonzero) is divided out. With a constant left over, `a*L + c >= 0` follows from
`L >= k` where k is the least integer with `k * (least value of a) + c >= 0`:

    >>> from solver.interner import Interner
    >>> from solver.facts import Facts
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> u, s = terms.symbol("u"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(u, 1, None).declare_range(s, 2, None)
    >>> decide(known, terms.lt(s * (u - u // 2), 2))
    Never(1 <= u <= None, 2 <= s <= None)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from solver.division import common_atoms, divide_atoms
from solver.explain import prove_side
from solver.facts import Facts
from solver.laws import size_of
from solver.polynomials import factors_of
from solver.prop import Prop
from solver.reasons import Reason, combine, times

if TYPE_CHECKING:
    from solver.ladder import Climb

NESTED: Final = 6


def prove(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """The goal by its factors, none of which need be known yet."""
    if depth >= NESTED:
        return None
    if goal.kind == "ne":
        return _nonzero(climb, facts, goal, depth)
    if goal.kind == "ge" and goal.expr.constant < 0:
        return _cofactor(climb, facts, goal, depth)
    return None


def _nonzero(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """`m != 0` from every factor of m."""
    e = goal.expr
    if len(e.terms) > 1:
        return _nonzero_polynomial(climb, facts, goal, depth)
    if e.constant:
        return None
    factors = []
    distinct = dict.fromkeys(facts.interner.monomials[e.terms[0][0]])
    if len(distinct) < 2:
        return None
    for atom in distinct:
        proof = climb.prove(facts, Prop.zero(atom.expr).negation, depth + 1)
        if proof is None:
            return None
        factors.append(proof)
    return Reason("product-nonzero", goal, tuple(factors))


def _nonzero_polynomial(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """`p != 0` from every factor of a polynomial."""
    e = goal.expr
    found = factors_of(e)
    if len(found) == 1 and found[0][1] == 1:
        return None
    proofs = []
    for factor, _ in found:
        proof = climb.prove(facts, Prop.zero(factor).negation, depth + 1)
        if proof is None:
            return None
        proofs.append(proof)
    return Reason("nonzero-factors", goal, tuple(proofs), tuple(found))


def _cofactor(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """`a*L + c >= 0`, c < 0, from `L >= k` and the least value of a."""
    e = goal.expr
    whole = e - e.constant
    if len(e.terms) == 1 and len(facts.interner.monomials[e.terms[0][0]]) == 1:
        return None
    for atom in sorted(common_atoms(facts.interner, whole), key=lambda atom: atom.key):
        low = facts.range_of(atom.monomial).lo
        if low is None or low < 1:
            continue
        rest = divide_atoms(facts.interner, whole, Counter([atom]))
        k = -(e.constant // low)
        proof = climb.prove(facts, facts.interner.ge(rest, k), depth + 1)
        if proof is None:
            return None
        least = prove_side(facts, atom.expr, True, low)
        bound = -least.conclusion.expr.constant
        product = times(prove_side(facts, atom.expr, True, 0), proof)
        # (rest - k) may have been divided by its content when it was normalized, and the product again
        scale = size_of(rest) * size_of(atom.expr * proof.conclusion.expr)
        given = rest.constant - proof.conclusion.expr.constant * size_of(rest)
        return combine([product, least], [scale, given], given * bound + e.constant)
    return None
