"""The prover: the rungs in order, on one work budget.

    >>> from solver.decide.prover import LadderProver
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 2, None).declare_range(y, 2, None)
    >>> prover = LadderProver(known)
    >>> prover.prove(known, terms.ge(x * y, x + y)).rule, prover.rung
    ('shift', 'shift')

A rung may prove subgoals through the prover, make hypotheses, and solve linear relaxations, all charged to one budget.
A point of a relaxation that is a counterexample to the goal ends the proof search: the question is open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from solver.knowledge import differences, maxima, remainder, shift
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.comparisons import decided
from solver.knowledge.extremes import prove_clamps
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.facts import Facts
from solver.knowledge.laws import rewritten
from solver.proofs.step import ProofStep, apart, equal, every, some
from solver.rungs import box, extremes, factor, isolate, linear, multiplied, refine, residues, split
from solver.rungs.prover import Prover
from solver.terms.expr import Expr
from solver.terms.prop import Prop


class LadderProver(Prover):
    """The prover that tries the rungs in order."""

    __slots__ = ()

    def prove(self, facts: Facts, goal: Prop, depth: int = 0) -> ProofStep | None:
        """A proof of the goal by any rung, or None."""
        canonical, rounds = facts.canonical_prop(goal)
        proof = self.prove_canonical(facts, canonical, depth)
        if proof is None or canonical is goal:
            return proof
        return rewritten(goal, proof if canonical.kind != "true" else None, rounds)

    def prove_canonical(self, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
        match goal.kind:
            case "true":
                return ProofStep("trivial", goal)
            case "false":
                return None
            case "and":
                proofs = self.prove_all(facts, goal.parts, depth)
                return None if proofs is None else every(goal, proofs)
            case "or":
                return self.prove_disjunction(facts, goal, depth)
            case _:
                return self.prove_comparison(facts, goal, depth)

    def prove_disjunction(self, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
        alive = facts.samples.alive
        likely = []
        for p in goal.parts:
            truths = facts.samples.truths(p) if alive else []
            if all(truths[row] for row in alive):
                likely.append(p)
                proof = self.prove_quickly(facts, p)
                if proof is not None:
                    self.rung = "parts"
                    return some(goal, proof)
        for name, rung in (("extremes", extremes.prove), ("box", box.prove), ("refine", refine.prove)):
            if self.allows(name):
                proof = rung(self, facts, goal, depth)
                if proof is not None:
                    self.rung = name
                    return proof
        for p in likely:
            proof = self.prove(facts, p, depth + 1)
            if proof is not None:
                self.rung = "parts"
                return some(goal, proof)
        return None

    def prove_quickly(self, facts: Facts, goal: Prop) -> ProofStep | None:
        """A comparison by the cheap rungs."""
        proof = prove_by_intervals(facts, goal)
        if proof is None and goal.kind == "ge":
            proof = self.prove_simply(facts, goal.expr)
        if proof is None and self.allows("linear"):
            proof = linear.prove(self, facts, goal, 0)
        return proof

    def prove_comparison(self, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
        if "bounds" in self.rungs:
            verdict = decided(facts, goal)
            if verdict is not None:
                self.rung = self.rung or "bounds"
                return verdict[1] if verdict[0] else None
        if self.allows("factor"):
            smaller = without_factors(facts, goal)
            if smaller is not None:
                proof = self.prove(facts, smaller.goal, depth)
                return None if proof is None else factored(smaller, goal, proof)
        if goal.kind in ("eq", "ne") and self.allows("factor"):
            proof = multiplied.prove(facts, goal)
            if proof is not None:
                self.rung = "factor"
                return proof
        if goal.kind == "eq":
            above = self.prove(facts, Prop.nonnegative(goal.expr), depth)
            if above is None:
                return None
            below = self.prove(facts, Prop.nonnegative(-goal.expr), depth)
            return None if below is None else equal(above, below)
        if goal.kind == "ne":
            proof = self.prove_apart(facts, goal)
            if proof is not None:
                return proof
        else:
            proof = self.prove_simply(facts, goal.expr)
            if proof is not None:
                return proof
        for name, rung in FACTORS_FIRST if factor.comes_first(goal) else LADDER:
            if self.allows(name):
                proof = rung(self, facts, goal, depth)
                if proof is not None:
                    self.rung = name
                    return proof
        return None

    def prove_apart(self, facts: Facts, goal: Prop) -> ProofStep | None:
        """`e != 0` because e is positive, or negative: the side that the samples show."""
        values = facts.samples.values(goal.expr)
        signs = {(values[row] > 0) - (values[row] < 0) for row in facts.samples.alive}
        for sign in (1, -1):
            if signs <= {sign}:
                proof = self.prove_simply(facts, goal.expr * sign - 1)
                if proof is not None:
                    return apart(proof, goal)
        return None

    def prove_simply(self, facts: Facts, e: Expr) -> ProofStep | None:
        """`e >= 0` by the rungs that cost less than looking for a witness."""
        for name, rung in SIMPLE:
            if self.allows(name):
                proof = rung(facts, e)
                if proof is not None:
                    self.rung = name
                    return proof
        return None


Rung = Callable[[LadderProver, Facts, Prop, int], ProofStep | None]

LADDER: Final[Sequence[tuple[str, Rung]]] = (
    ("split", split.without_value),
    ("linear", linear.prove),
    ("box", box.prove),
    ("residues", residues.prove),
    ("extremes", extremes.prove),
    ("factor", factor.prove),
    ("isolate", isolate.prove),
    ("split", split.prove),
    ("refine", refine.prove),
)
FACTORS_FIRST: Final[Sequence[tuple[str, Rung]]] = (
    ("factor", factor.prove),
    *[each for each in LADDER if each[0] != "factor"],
)
SIMPLE: Final[Sequence[tuple[str, Callable[[Facts, Expr], ProofStep | None]]]] = (
    ("shift", shift.prove_nonnegative),
    ("remainder", remainder.prove_nonnegative),
    ("extremes", prove_clamps),
    ("differences", differences.prove_nonnegative),
    ("elimination", maxima.prove_nonnegative),
)
