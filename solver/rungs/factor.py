"""Sign rules for products: prove something about each factor instead of about the product.

An atom that every monomial shares and that is known positive (or nonzero) is divided out. With a constant left over,
`a*L + c >= 0` follows from `L >= k` where k is the least integer with `k * (least value of a) + c >= 0`:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> u, s = terms.symbol("u"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(u, 1, None).declare_range(s, 2, None)
    >>> decide(known, terms.lt(s * (u - u // 2), 2))
    Never(1 <= u <= None, 2 <= s <= None)
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.explain import prove_side
from solver.knowledge.facts import Facts
from solver.knowledge.laws import size_of
from solver.proofs.step import ProofStep, apart, combine, times
from solver.rungs.prover import Prover
from solver.terms.expr import Expr
from solver.terms.operations import OPERATIONS
from solver.terms.polynomials import all_factors_of, product_of
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms

NESTED: Final = 6
SIGNED: Final = 2
CLAMPED: Final = 12
FARTHEST: Final = 1 << 12
"""Largest bound of a product for which factors are examined one by one."""


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """The goal by the signs and sizes of its factors."""
    if depth >= NESTED:
        return None
    if goal.kind == "ne":
        return _nonzero(prover, facts, goal, depth) or _apart(prover, facts, goal, depth)
    if goal.kind != "ge":
        return None
    proof = _signs(prover, facts, goal, depth) if depth <= SIGNED else None
    proof = proof or _unexpanded(prover, facts, goal, depth)
    return proof or (_cofactor(prover, facts, goal, depth) if goal.expr.constant < 0 else None)


def comes_first(goal: Prop) -> bool:
    """Return True if factors come before the rungs that search: programs ask about products of clamps."""
    e = goal.expr
    return (
        1 < e.degree
        and len(e.terms) <= CLAMPED
        and any(atom.kind == "relu" for m, _ in e.terms for atom in e.interner.monomials[m])
    )


def _signs(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """`p*q >= 0` from two factors of the same sign, `p*q >= 1` from two that are not zero either, `p*q*r >= k` from as
    many that are far enough from zero; the samples say which sign, and how far.
    """
    e = goal.expr
    if e.degree < 2 or len(e.terms) < 2:
        return None
    for least in dict.fromkeys((-e.constant, 0, 1) if e.constant < 0 else (0, 1)):
        factors = all_factors_of(e + least)
        if len(factors) == 1 and factors[0][1] == 1:
            continue
        proof = _product_of_two(prover, facts, goal, factors, depth, least)
        if proof is None and 1 < least <= FARTHEST:
            proof = _far_from_zero(prover, facts, factors, depth, least)
        if proof is not None:
            return proof
    return None


def _unexpanded(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """The sign of a product that is too long to be expanded, from those of its factors."""
    e = goal.expr
    if len(e.terms) != 1 or e.constant < -1:
        return None
    ((m, c),) = e.terms
    atom = facts.interner.monomials[m][0]
    if atom.monomial != m or atom.kind != "product":
        return None
    first, second = atom.args
    assert isinstance(first, Expr)
    assert isinstance(second, Expr)
    sign = _sign(facts, first)
    strict = 1 if e.constant < 0 else 0
    if not sign:
        return None
    proofs = prover.prove_all(
        facts, [Prop.nonnegative(first * sign - strict), Prop.nonnegative(second * sign * c - strict)], depth + 1
    )
    if proofs is None:
        return None
    bound = ProofStep("operation", Prop.nonnegative(atom.expr * c - strict), tuple(proofs), (atom, c > 0))
    return combine([bound], [1], e.constant + strict)


def _product_of_two(
    prover: Prover, facts: Facts, goal: Prop, factors: list[tuple[Expr, int]], depth: int, strict: int
) -> ProofStep | None:
    """The first factor and the rest, for `strict` 0 or 1."""
    if strict > 1:
        return None
    (first, power), *others = factors
    rest = product_of([(first, power - 1), *others], facts.interner.one)
    if power > 1 and power % 2 == 0 and not strict:  # a square, times the rest
        first, rest = facts.interner.apply(OPERATIONS["power"], first, power), product_of(others, facts.interner.one)
    if rest.is_constant:
        return None
    sign = _sign(facts, first)
    left = prover.prove_quickly(facts, Prop.nonnegative(first * sign - strict)) if sign else None
    if left is None:
        divided = _with_known_signs(prover, facts, goal, factors, depth, strict)
        if divided is not None or not sign:
            return divided
        left = prover.prove(facts, Prop.nonnegative(first * sign - strict), depth + 1)
    right = None if left is None else prover.prove(facts, Prop.nonnegative(rest * sign - strict), depth + 1)
    if left is None or right is None:
        return None
    return _product((left, first * sign), (right, rest * sign), strict)


def _with_known_signs(
    prover: Prover, facts: Facts, goal: Prop, factors: list[tuple[Expr, int]], depth: int, strict: int
) -> ProofStep | None:
    """The factors with evident signs, and the product of all others: `x*(2*x + 1)` is not negative although each of
    the two may be.
    """
    interner = facts.interner
    signed: list[tuple[ProofStep, Expr]] = []
    others: list[tuple[Expr, int]] = []
    rest = interner.one
    for factor, power in _without_atoms(factors):
        sign = 0 if factor.is_constant else _sign(facts, factor)
        proof = prover.prove_quickly(facts, Prop.nonnegative(factor * sign - strict)) if sign else None
        if proof is None:
            others.append((factor, power))
        else:
            signed += [(proof, factor * sign)] * power
            rest = rest * sign**power
    rest = product_of(others, rest)
    if not signed or not others or rest.is_constant:
        return None
    right = prover.prove(facts, Prop.nonnegative(rest - strict), depth + 1)
    if right is None:
        return None
    whole = rest
    for proof, factor in signed:
        right = _product((proof, factor), (right, whole), strict)
        whole = whole * factor
    return right if right.conclusion is goal else None


def _product(left: tuple[ProofStep, Expr], right: tuple[ProofStep, Expr], strict: int) -> ProofStep:
    """`p*q >= strict` from `p >= strict` and `q >= strict`."""
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
        [each for each, factor in parts if factor], [factor for _, factor in parts if factor], r * s - strict
    )


def _far_from_zero(
    prover: Prover, facts: Facts, factors: list[tuple[Expr, int]], depth: int, least: int
) -> ProofStep | None:
    """Every factor as far from zero as in the samples, until the product is far enough."""
    parts: list[tuple[Expr, int]] = []
    scale, together, negative = 1, 1, False
    for factor, power in sorted(_without_atoms(factors), key=lambda each: not each[0].is_constant):
        if factor.is_constant:
            scale *= abs(factor.constant) ** power
            negative ^= factor.constant < 0 and power % 2 == 1
            continue
        sign = _sign(facts, factor)
        values = [abs(value) for value in _values(facts, factor)]
        closest = min(values, default=0)
        if not sign or not closest:
            return None
        for _ in range(power):
            needed = -(-least // (scale * together))
            parts.append((factor * sign, max(1, min(closest, needed))))
            together *= parts[-1][1]
            negative ^= sign < 0
    if scale * together < least or negative or len(parts) < 2:
        return None
    proofs = prover.prove_all(facts, [Prop.nonnegative(part - distance) for part, distance in parts], depth + 1)
    if proofs is None:
        return None
    whole, bound = parts[0]
    total = proofs[0]
    for (part, distance), proof in zip(parts[1:], proofs[1:], strict=True):
        total = _product((total, whole), (proof, part), bound * distance)
        whole, bound = whole * part, bound * distance
    size = size_of(whole)
    slack = whole.constant - size * total.conclusion.expr.constant
    return combine([total], [scale * size], scale * slack - least)


def _without_atoms(factors: list[tuple[Expr, int]]) -> list[tuple[Expr, int]]:
    """The factors, with the atoms that all terms of one share split off."""
    found: dict[Expr, int] = {}
    for factor, power in factors:
        rest = factor
        for atom in common_atoms(factor.interner, factor) if not factor.constant else ():
            rest = divide_atoms(factor.interner, rest, (atom,))
            found[atom.expr] = found.get(atom.expr, 0) + power
        if rest is not factor.interner.one:
            found[rest] = found.get(rest, 0) + power
    return list(found.items())


def _values(facts: Facts, e: Expr) -> list[int]:
    """The values in the samples."""
    values = facts.samples.values(e)
    return [values[row] for row in facts.samples.alive]


def _sign(facts: Facts, e: Expr) -> int:
    """The sign that the samples show, 0 where they differ."""
    signs = {value > 0 for value in _values(facts, e) if value}
    return 0 if len(signs) > 1 else -1 if signs == {False} else 1


def _nonzero(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """`m != 0` from every factor of m."""
    e = goal.expr
    if len(e.terms) > 1:
        return _nonzero_polynomial(prover, facts, goal, depth)
    if e.constant:
        return None
    distinct = dict.fromkeys(facts.interner.monomials[e.terms[0][0]])
    if len(distinct) < 2:
        return None
    proofs = prover.prove_all(facts, [Prop.zero(atom.expr).negation for atom in distinct], depth + 1)
    return None if proofs is None else ProofStep("product-nonzero", goal, tuple(proofs))


def _nonzero_polynomial(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """`p != 0` from every factor of a polynomial."""
    e = goal.expr
    found = all_factors_of(e)
    if not e.constant:
        found = _without_atoms(found)
    if len(found) == 1 and found[0][1] == 1:
        return None
    proofs = prover.prove_all(facts, [Prop.zero(factor).negation for factor, _ in found], depth + 1)
    return None if proofs is None else ProofStep("nonzero-factors", goal, tuple(proofs), tuple(found))


def _apart(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """`p*q + c != 0`, because the product keeps to one side of -c."""
    if depth > SIGNED or not goal.expr.constant:
        return None
    sign = _sign(facts, goal.expr)
    side = Prop.nonnegative(goal.expr * sign - 1) if sign else goal
    proof = _signs(prover, facts, side, depth) if side.kind == "ge" else None
    return None if proof is None else apart(proof, goal)


def _cofactor(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
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
        proof = prover.prove(facts, Prop.ge(rest, k), depth + 1)
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
