"""Inequalities from one or two facts and bounds: `a <= c` from `a + b <= c` and `b >= 0`.

>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> from solver.knowledge import single
>>> terms = Interner()
>>> a, b, c = (terms.symbol(name) for name in "abc")
>>> known = Facts.empty(terms).declare_range(a, 0, None).declare_range(b, 0, None).declare_range(c, 0, None)
>>> known = known.learn_prop(terms.le(a + b, c))
>>> single.prove_nonnegative(known, c - a)
<combine: a <= c>

Cheap enough for frequent questions such as the signs that decide clamps; the linear solver does the rest.
"""

from __future__ import annotations

from math import prod
from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.entries import Entry, Uses
from solver.knowledge.explain import prove_side, weakened
from solver.knowledge.isolation import isolations
from solver.knowledge.laws import size_of, times_nonnegative
from solver.proofs.step import ProofStep, combine, hypothesis, refute, times
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms, divide_content

LOOKED: Final = 8
"""The newest facts about an atom that are tried."""
ATOMS: Final = 3
FACTS: Final = 2
SUMS: Final = 24
"""Sums of a fact and a rest examined for one inequality."""
TERMS: Final = 8
FACTORS: Final = 4
DEEP: Final = 12
"""Deeper expressions are not examined: each examines its subterms, level by level."""


def prove_nonnegative(known: Knowledge, e: Expr, without: Atom | None = None) -> ProofStep | None:
    """`e >= 0` by bounds and at most two facts, as a product, or by an exact quotient.

    A fact that decides a clamp is rewritten by what it decided, and then is weaker: facts about the clamp `without` are
    not used.
    """
    if len(e.terms) > TERMS or e.depth > DEEP:
        return None
    return prove_product(known, e) or prove_exact(known, e) or prove_by_facts(known, e, FACTS, without)


def prove_by_facts(known: Knowledge, e: Expr, facts: int, without: Atom | None = None) -> ProofStep | None:
    """`e >= 0` by bounds and at most this many facts."""
    if not 1 < len(e.terms) <= TERMS:
        return None
    low = known.low(e)
    if low is not None and low >= 0:
        return prove_side(known, e, True, 0)
    return _Sums(known, without).prove(e, facts)


class _Sums:
    """One inequality as sums of facts and a rest, few of which are examined."""

    __slots__ = ("known", "left", "without")

    def __init__(self, known: Knowledge, without: Atom | None) -> None:
        self.known = known
        self.without = without
        self.left = SUMS

    def prove(self, e: Expr, facts: int) -> ProofStep | None:
        """`e >= 0` by at most this many facts, by one wherever that suffices."""
        further: list[tuple[ProofStep, int, Expr]] = []
        for entry in _entries(self.known, e):
            p = entry.prop
            if len(p.terms) < 2 or p.kind not in ("ge", "eq") or self.is_about(p):
                continue
            for factor in _factors(e, p):
                if self.left <= 0:
                    return None
                self.left -= 1
                rest = e - p.expr * factor
                least = self.known.low(rest)
                if least is not None and least >= 0:
                    return _sum(entry.proof, factor, rest, prove_side(self.known, rest, True, 0))
                if facts > 1 and len(rest.terms) <= len(e.terms) and not self.known.refuted(rest):
                    further.append((entry.proof, factor, rest))
        for first, factor, rest in further:
            proof = self.prove(rest, facts - 1)
            if proof is not None:
                return _sum(first, factor, rest, proof)
        return None

    def is_about(self, p: Prop) -> bool:
        """Return True if the fact mentions the clamp to be decided."""
        without = self.without
        if without is None:
            return False
        monomials = self.known.interner.monomials
        return any(without in monomials[m] for m, _ in p.terms)


def prove_product(known: Knowledge, e: Expr) -> ProofStep | None:
    """`k*x*y*(z + w) + c >= 0` by positive lower bounds of the factors of a product."""
    whole = e - e.constant
    size = whole.content()
    if e.constant >= 0 or not whole.terms:
        return None
    atoms = common_atoms(known.interner, whole)
    if not 0 < len(atoms) <= FACTORS or len(whole.terms) == 1 == len(atoms):
        return None
    rest = divide_content(divide_atoms(known.interner, whole, atoms), size)
    if rest.is_constant and rest.constant < 0:
        return None
    factors = [factor for factor in (*[atom.expr for atom in atoms], rest) if factor.terms]
    lows = [max(known.low(factor) or 0, 1) for factor in factors]
    if prod(lows) * size < -e.constant:
        return None
    product: ProofStep | None = None
    left = known.interner.one
    for factor, low in zip(factors, lows, strict=True):
        one = prove_side(known, factor, True, low) if low > 1 else prove_positive(known, factor)
        if one is None:
            return None
        if product is None:
            product = one
        else:  # with x = k*p + a and y = j*q + b, x*y is k*j*p*q + k*b*p + j*a*q + a*b
            (k, a), (j, b) = _size_and_least(left, product), _size_and_least(factor, one)
            scale = k * j * size_of(product.conclusion.expr * one.conclusion.expr)
            product = combine([times(product, one), product, one], [scale, k * b, j * a])
        left = left * factor
    goal = Prop.nonnegative(e)
    return product if product is None or product.conclusion is goal else weakened(product, goal)


def _size_and_least(e: Expr, proof: ProofStep) -> tuple[int, int]:
    """The multiplicity of `p >= 0` in an expression that it bounds from below, and the bound."""
    size = size_of(e)
    return size, e.constant - size * proof.conclusion.expr.constant


def prove_exact(known: Knowledge, e: Expr) -> ProofStep | None:
    """`n//d + r >= 0`, where d is known to divide n: it suffices that `n + d*(r + 1)` is positive."""
    for quotient, rest, sign, n, d in isolations(known, e):
        goal = n + d * (rest + 1) - 1
        if sign < 0 or len(goal.terms) > TERMS:
            continue
        exact = _recorded(known, quotient, Prop.zero(d * quotient.expr - n))
        positive = None if exact is None else _proven(known, goal)
        if exact is None or positive is None:
            continue
        opposite = hypothesis(Prop.nonnegative(e).negation)
        below = times_nonnegative(known, opposite, d)
        if below is None:
            continue
        turn = 1 if exact.conclusion.expr is d * quotient.expr - n else -1
        false = combine([below, exact, positive], [size_of(d * opposite.conclusion.expr), turn, size_of(goal)])
        if false.conclusion.kind == "false":
            return refute(false, Prop.nonnegative(e))
    return None


def _proven(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` by bounds or as a product."""
    low = known.low(e)
    return prove_side(known, e, True, 0) if low is not None and low >= 0 else prove_product(known, e)


def _recorded(known: Knowledge, atom: Atom, p: Prop) -> ProofStep | None:
    """A recently learned statement about an atom."""
    uses = known.uses.get(atom.serial)
    for _ in range(LOOKED):
        if uses is None:
            return None
        if uses.entry.prop is p:
            return uses.entry.proof
        uses = uses.rest
    return None


def prove_positive(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 1`, by bounds, a fact or two, or the dividend of a quotient."""
    low = known.low(e)
    return prove_side(known, e, True, 1) if low is not None and low >= 1 else known.prove_sign(e - 1)


def _sum(first: ProofStep, factor: int, rest: Expr, proof: ProofStep) -> ProofStep:
    """The multiple of a fact plus a proven rest."""
    if not rest.terms:
        return combine([first], [factor], rest.constant)
    size = size_of(rest)
    return combine([first, proof], [factor, size], max(rest.constant - size * proof.conclusion.expr.constant, 0))


def _entries(known: Knowledge, e: Expr) -> list[Entry]:
    """The newest facts about the atoms of the expression, the rarest atoms first."""
    chains: list[Uses] = []
    monomials = known.interner.monomials
    for m, _ in e.terms:
        for atom in monomials[m]:
            uses = known.uses.get(atom.serial)
            if uses is not None:
                chains.append(uses)
    chains.sort(key=lambda uses: uses.count)
    found: dict[Entry, None] = {}
    for chain in chains[:ATOMS]:
        uses = chain
        for _ in range(LOOKED):
            found[uses.entry] = None
            if uses.rest is None:
                break
            uses = uses.rest
    return list(found)[: 2 * LOOKED]


def _factors(e: Expr, p: Prop) -> list[int]:
    """The multiplicities of a fact that cancel one of its terms."""
    terms = dict(e.terms)
    found: list[int] = []
    for m, c in p.terms:
        factor, rest = divmod(terms.get(m, 0), c)
        if factor and not rest and (factor > 0 or p.kind == "eq") and factor not in found:
            found.append(factor)
    return found
