"""Common factors: prove something about each factor instead of about the product.

An atom that every monomial shares and that is known positive (or nonzero) is divided out. With a constant left over,
`a*L + c >= 0` follows from `L >= k` where k is the least integer with `k * (least value of a) + c >= 0`:

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

from typing import TYPE_CHECKING, Final

from solver.division import common_atoms, divide_atoms
from solver.explain import prove_side
from solver.expr import Expr
from solver.facts import Facts
from solver.laws import size_of
from solver.polynomials import all_factors_of
from solver.prop import Prop
from solver.reasons import Reason, combine, times

if TYPE_CHECKING:
    from solver.climb import Climb

NESTED: Final = 6
SIGNED: Final = 2
CLAMPED: Final = 12


def prove(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """The goal by its factors, none of which need be known yet."""
    if depth >= NESTED:
        return None
    if goal.kind == "ne":
        return _nonzero(climb, facts, goal, depth)
    if goal.kind == "ge" and goal.expr.constant < 0:
        proof = _cofactor(climb, facts, goal, depth)
        if proof is not None:
            return proof
    return _signs(climb, facts, goal, depth) if goal.kind == "ge" and depth <= SIGNED else None


def comes_first(goal: Prop) -> bool:
    """Whether the factors are looked at before anything that searches: clamps are factors of what programs ask."""
    e = goal.expr
    return (
        1 < e.degree
        and len(e.terms) <= CLAMPED
        and any(atom.kind == "relu" for m, _ in e.terms for atom in e.interner.monomials[m])
    )


def _signs(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """`p*q >= 0` from two factors of the same sign, `p*q >= 1` from two that are not zero either; the samples say which
    sign.
    """
    e = goal.expr
    if e.degree < 2 or len(e.terms) < 2:
        return None
    for strict in (0, 1):
        factors = all_factors_of(e + strict)
        if len(factors) == 1 and factors[0][1] == 1:
            continue
        (first, power), *others = factors
        rest = facts.interner.power(first, power - 1)
        for other, times_ in others:
            rest = rest * facts.interner.power(other, times_)
        if power > 1 and power % 2 == 0 and not strict:  # a square, times the rest
            first, rest = facts.interner.power(first, power), facts.interner.one
            for other, times_ in others:
                rest = rest * facts.interner.power(other, times_)
        if rest.is_constant:
            continue
        values = facts.pool.values(first)
        signs = {values[row] > 0 for row in facts.pool.alive if values[row]}
        if len(signs) > 1:
            continue
        sign = -1 if signs == {False} else 1
        left = climb.prove(facts, Prop.nonnegative(first * sign - strict), depth + 1)
        right = None if left is None else climb.prove(facts, Prop.nonnegative(rest * sign - strict), depth + 1)
        if left is None or right is None:
            continue
        return _product(goal, (left, first * sign), (right, rest * sign), strict)
    return None


def _product(goal: Prop, left: tuple[Reason, Expr], right: tuple[Reason, Expr], strict: int) -> Reason:
    """The goal from `p >= strict` and `q >= strict`, where it says `p*q >= strict`."""
    proofs, sizes = [], []
    for proof, e in (left, right):
        proofs.append(proof)
        sizes.append(size_of(e) if proof.conclusion.terms else 0)
    if not all(sizes):  # one of them is a constant
        return combine([proof for proof, size in zip(proofs, sizes, strict=True) if size], [1])
    product = times(*proofs)
    # with p = k*p' + r (p' what was shown not to be negative), p*q = k*j*p'*q' + r*q + s*p - r*s
    (p, q), (k, j) = (left[1], right[1]), sizes
    r, s = p.constant - k * proofs[0].conclusion.expr.constant, q.constant - j * proofs[1].conclusion.expr.constant
    whole = size_of(proofs[0].conclusion.expr * proofs[1].conclusion.expr)
    parts = [(product, k * j * whole), (proofs[1], r * j), (proofs[0], s * k)]
    return combine(
        [reason for reason, factor in parts if factor], [factor for _, factor in parts if factor], r * s - strict
    )


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
    found = all_factors_of(e)
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
    for atom in sorted(set(common_atoms(facts.interner, whole)), key=lambda atom: atom.key):
        low = facts.range_of(atom.monomial).lo
        if low is None or low < 1:
            continue
        rest = divide_atoms(facts.interner, whole, (atom,))
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
