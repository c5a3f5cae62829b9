"""Case analysis of min, max and abs, one clamp at a time (`solver.knowledge.extremes`), on the budget of the question.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> known, b = Facts.empty(terms), terms.symbol("b")
    >>> known, largest = known.declare_range(b, 1, None), terms.one
    >>> for symbol in [terms.symbol(f"a{i}") for i in range(30)]:
    ...     known, largest = known.declare_range(symbol, 1, None), terms.maximum(largest, symbol)
    ...     known = known.learn_prop(terms.disjunction([terms.eq(symbol, b), terms.eq(symbol, 1)]))
    >>> decide(known, terms.disjunction([terms.eq(largest, b), terms.eq(largest, 1)])).rung
    'extremes'

A disjunction or a disequality about a max holds if it does about each of its arguments. What a max is at least, its
arguments, are symbolic bounds (`solver.knowledge.elimination`). What is left without clamps follows from a disjunction
(`solver.knowledge.disjunctions`), or is refuted by propagation of its negation.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge import disjunctions, elimination
from solver.knowledge.extremes import ClampSplit, outermost
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.maxima import subtracted
from solver.proofs.step import ProofStep, apart, every, refute
from solver.rungs.prover import Prover
from solver.terms.expr import Atom
from solver.terms.prop import SHARING, Prop

DEEP: Final = 1
GOALS: Final = 200
"""Goals that one question is split into."""
GOAL: Final = 400
"""The cost of each goal, in units of the linear solver's work."""


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """An inequality over clamps, by inequalities over their arguments; a disequality or a disjunction likewise."""
    if depth > DEEP or (_clamp(goal) is None and (goal.kind != "ge" or subtracted(facts, goal.expr) is None)):
        return None
    forks, prover.forks = prover.forks, GOALS
    splits = _Split(prover, facts)
    before = splits.goals
    try:
        return splits.prove(goal)
    finally:
        prover.work -= GOAL * (before - splits.goals)
        prover.forks = forks


class _Split(ClampSplit):
    """The split of a question, with hypotheses for what is left in each case."""

    __slots__ = ("known", "prover")

    def __init__(self, prover: Prover, facts: Facts) -> None:
        super().__init__(facts, min(GOALS, prover.work // GOAL), both=True)
        self.known = facts
        self.prover = prover

    def prove_open(self, goal: Prop) -> ProofStep | None:
        if goal.kind == "and":
            proofs = []
            for p in goal.parts:
                proof = self.prove(p)
                if proof is None:
                    return None
                proofs.append(proof)
            return every(goal, proofs)
        if goal.kind == "ge":
            return self.prove_inequality(goal)
        if goal.kind not in ("or", "ne"):
            return super().prove_open(goal)
        truths = self.known.samples.truths(goal)
        if not all(truths[row] for row in self.known.samples.alive):
            return None
        atom = _clamp(goal)
        if atom is not None:
            return self.below(goal, atom)
        return self.by_propagation(goal) if goal.kind == "or" else self.prove_apart(goal)

    def prove_apart(self, goal: Prop) -> ProofStep | None:
        """A disequality without clamps, by the sign of its expression."""
        for sign in (1, -1):
            side = Prop.nonnegative(goal.expr * sign - 1)
            proof = self.known.prove_sign(side.expr) if side.kind == "ge" else None
            if proof is not None:
                return apart(proof, goal)
        return None

    def prove_inequality(self, goal: Prop) -> ProofStep | None:
        """Cases of a subtracted clamp, alone or with a factor; without one, what the others are at least."""
        found = outermost(goal.expr)
        if found is None or found[1] > 0:
            clamp = subtracted(self.known, goal.expr)
            if clamp is not None:
                return None if self.known.refuted(goal.expr) else self.below(goal, clamp)
            proof = elimination.prove_nonnegative(self.known, goal.expr)
            if proof is not None:
                return proof
        return super().prove_open(goal)

    def prove_unclamped(self, goal: Prop) -> ProofStep | None:
        proof = super().prove_unclamped(goal) or disjunctions.prove_nonnegative(self.known, goal.expr)
        return self.by_propagation(goal) if proof is None else proof

    def by_propagation(self, goal: Prop) -> ProofStep | None:
        """The goal, if propagation refutes its negation."""
        supposed = self.prover.suppose(self.known, goal.negation)
        return refute(supposed.proof, goal) if isinstance(supposed, Conflict) else None


def _clamp(goal: Prop) -> Atom | None:
    """The clamp to split on first: the one with the largest argument, which holds the others of the same max."""
    if goal.kind in ("ge", "ne"):
        found = outermost(goal.expr)
        return None if found is None else found[0]
    if goal.kind != "or" or goal.written > SHARING:
        return None
    chosen: Atom | None = None
    for p in goal.nodes:
        clamp = None if p.parts else outermost(p.expr)
        if clamp is not None and (chosen is None or (clamp[0].depth, clamp[0].key) > (chosen.depth, chosen.key)):
            chosen = clamp[0]
    return chosen
