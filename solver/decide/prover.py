"""The prover: the rungs in order (`solver.decide.rungs`), on one work budget.

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

from solver.decide.rungs import SIMPLE, Rung, in_order
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.comparisons import decided
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.facts import Facts
from solver.knowledge.laws import rewritten
from solver.proofs.step import ProofStep, apart, equal, every, some
from solver.rungs import linear, multiplied
from solver.rungs.prover import Prover
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
        proof = self.prove_by(in_order(goal), facts, goal, depth)
        if proof is not None:
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
            proof = self.prove_by(SIMPLE, facts, goal, 0)
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
            proof = self.prove_by(SIMPLE, facts, goal, 0)
            if proof is not None:
                return proof
        return self.prove_by(in_order(goal), facts, goal, depth)

    def prove_by(self, rungs: tuple[Rung, ...], facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
        """A proof by the first of these rungs that finds one."""
        for rung in rungs:
            if self.allows(rung.name):
                proof = rung.prove(self, facts, goal, depth)
                if proof is not None:
                    self.rung = rung.name
                    return proof
        return None

    def prove_apart(self, facts: Facts, goal: Prop) -> ProofStep | None:
        """`e != 0` because e is positive, or negative: the side that the samples show."""
        values = facts.samples.values(goal.expr)
        signs = {(values[row] > 0) - (values[row] < 0) for row in facts.samples.alive}
        for sign in (1, -1):
            if signs <= {sign}:
                proof = self.prove_by(SIMPLE, facts, Prop.nonnegative(goal.expr * sign - 1), 0)
                if proof is not None:
                    return apart(proof, goal)
        return None
