"""Lemmas about the quotients of a question: the signs of their divisors.

The laws of `n // d` need the sign of d, which bounds show where d is a symbol. Where it is a difference, the cheap
rungs show it:

    >>> from solver.decide.ladder import decide
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> size, tile, overlap = (terms.symbol(name) for name in ("size", "tile", "overlap"))
    >>> known = Facts.empty(terms).declare_range(tile, 4, None).declare_range(overlap, 0, None)
    >>> known = known.declare_range(size, 1, None)
    >>> known = known.learn_prop(terms.lt(2 * overlap, tile)).learn_prop(terms.ge(size, tile))
    >>> step = tile - overlap
    >>> covered = terms.ceildiv(size - overlap, step) * step + overlap
    >>> decide(known, terms.ge(covered, size)).rung
    'remainder'
"""

from __future__ import annotations

from typing import Final

from solver.decide.prover import LadderProver
from solver.decide.rungs import SIMPLE
from solver.knowledge.facts import Facts
from solver.knowledge.laws import rewritten
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

QUOTIENTS: Final = 4
"""Quotients of one question that are examined."""


def quotient_lemmas(prover: LadderProver, facts: Facts, goal: Prop) -> list[ProofStep]:
    """The signs of the divisors in a goal that bounds do not show: `d >= 1` or `d <= -1` of a sum d."""
    quotients = [atom for atom in goal.schedule if atom.kind == "floordiv"]
    found = [_lemma(prover, facts, atom) for atom in quotients[:QUOTIENTS]]
    return [proof for proof in found if proof is not None]


def _lemma(prover: LadderProver, facts: Facts, atom: Atom) -> ProofStep | None:
    d = atom.args[1]
    assert isinstance(d, Expr)
    if len(d.terms) < 2:
        return None
    low, high = facts.low(d), facts.high(d)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return None
    return _proven(prover, facts, d - 1) or _proven(prover, facts, -d - 1)


def _proven(prover: LadderProver, facts: Facts, e: Expr) -> ProofStep | None:
    goal = Prop.nonnegative(e)
    canonical, rounds = facts.canonical_prop(goal)
    if canonical.kind != "ge" or facts.refuted(canonical.expr):
        return None
    proof = prover.prove_by(SIMPLE, facts, canonical, 0)
    return rewritten(goal, proof, rounds) if proof is not None and rounds else proof
