"""Inequalities between maxima: cases of what is subtracted, symbolic bounds of the rest.

A max is at most k if each of its arguments is: as many cases as arguments. It is at least k if one of them is, which a
sample points to (`solver.knowledge.elimination`). So both together are proven in as many steps as there are arguments:

    >>> from solver.knowledge.facts import Facts
    >>> from solver.knowledge.maxima import prove_nonnegative
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> sizes = [terms.symbol(f"l{i}") for i in range(20)]
    >>> known, first, second = Facts.empty(terms), sizes[0], sizes[-1]
    >>> for one, other in zip(sizes, reversed(sizes)):
    ...     first, second = terms.maximum(first, one), terms.maximum(second, other)
    ...     known = known.declare_range(one, 0, None)
    >>> prove_nonnegative(known, first - second).rule
    'cases'

A factor of all terms is divided out first.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge import elimination
from solver.knowledge.base import Knowledge
from solver.knowledge.extremes import ClampSplit, outermost
from solver.knowledge.facts import Facts
from solver.knowledge.laws import times_nonnegative
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms

CLAMPS: Final = 400
"""Clamps in an inequality that is split."""
GOALS: Final = 2
"""Goals per clamp of the inequality; a few more are added."""
MORE: Final = 8
TERMS: Final = 1_200


def prove_nonnegative(facts: Facts, e: Expr) -> ProofStep | None:
    """`e >= 0` by symbolic bounds, and cases of clamps."""
    if len(e.terms) > TERMS or not facts.samples.alive or facts.refuted(e):
        return None
    if e.degree > 1 and not e.constant:
        common = common_atoms(facts.interner, e)
        if common and len(common) < e.degree + e.depth:
            return _times(facts, e, common)
    return elimination.prove_nonnegative(facts, e) or _by_cases(facts, e)


def _times(facts: Facts, e: Expr, common: tuple[Atom, ...]) -> ProofStep | None:
    """`e >= 0`, a product of nonnegative atoms and an expression."""
    interner = facts.interner
    factor = interner.expr(((interner.monomial(common), 1),), 0)
    rest = divide_atoms(interner, e, common)
    low = facts.low(factor)
    if rest.is_constant or low is None or low < 0:
        return None
    proof = elimination.prove_nonnegative(facts, rest) or _by_cases(facts, rest)
    scaled = None if proof is None else times_nonnegative(facts, proof, factor)
    return scaled if scaled is not None and scaled.conclusion is Prop.nonnegative(e) else None


def _by_cases(facts: Facts, e: Expr) -> ProofStep | None:
    clamps = sum([atom.kind == "relu" for atom in e.schedule])
    if not 1 < clamps <= CLAMPS:
        return None
    return _Cases(facts, GOALS * clamps + MORE).prove(Prop.nonnegative(e))


class _Cases(ClampSplit):
    """The split of one inequality."""

    __slots__ = ("known",)

    def __init__(self, facts: Facts, goals: int) -> None:
        super().__init__(facts, goals, both=True)
        self.known = facts

    def prove_open(self, goal: Prop) -> ProofStep | None:
        if goal.kind != "ge" or self.known.refuted(goal.expr):
            return None
        found = outermost(goal.expr)
        if found is not None and found[1] < 0:
            return self.below(goal, found[0])
        clamp = subtracted(self.known, goal.expr)
        if clamp is not None:
            return self.below(goal, clamp)
        proof = elimination.prove_nonnegative(self.known, goal.expr)
        if proof is not None:
            return proof
        inside = in_quotient(self.known, goal.expr)
        if inside is not None:
            return self.below(goal, inside)
        return self.prove_unclamped(goal) if found is None else self.above(goal, found[0], found[1])


def in_quotient(known: Knowledge, e: Expr) -> Atom | None:
    """The clamp with the largest argument in the dividend of a quotient that is subtracted."""
    monomials = known.interner.monomials
    chosen: Atom | None = None
    for m, c in e.terms:
        atom = monomials[m][0]
        if c > 0 or len(monomials[m]) > 1 or atom.kind != "floordiv":
            continue
        dividend = atom.args[0]
        assert isinstance(dividend, Expr)
        for inner, _ in dividend.terms:
            clamp = monomials[inner][0]
            if clamp.kind == "relu" and (chosen is None or (clamp.depth, clamp.key) > (chosen.depth, chosen.key)):
                chosen = clamp
    return chosen


def subtracted(known: Knowledge, e: Expr) -> Atom | None:
    """A clamp in a product that decreases the expression as the clamp grows: the one with the largest argument."""
    monomials = known.interner.monomials
    chosen: Atom | None = None
    for m, c in e.terms:
        atoms = monomials[m]
        if c > 0 or len(atoms) < 2:
            continue
        clamps = [atom for atom in atoms if atom.kind == "relu"]
        if len(clamps) != 1 or (chosen is not None and (clamps[0].depth, clamps[0].key) <= (chosen.depth, chosen.key)):
            continue
        others = [known.range_of(atom.monomial).lo for atom in atoms if atom is not clamps[0]]
        if all(low is not None and low >= 0 for low in others):
            chosen = clamps[0]
    return chosen
