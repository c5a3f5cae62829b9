"""A question under its facts, and the answers that need no proof search.

    >>> from solver.decide.question import Question, at_once
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None).learn_prop(terms.divides(16, s))
    >>> question = Question(known, terms.divides(8, s), terms.true)
    >>> print(question.canonical, at_once(question).rung)
    True substitution

Substitution of equals, interval arithmetic, recorded facts and the samples answer most questions. Where the samples
agree with each other, they show in which `directions` a proof is worth searching for.
"""

from __future__ import annotations

from typing import Final

from solver.decide.verdict import Always, Depends, Never, Verdict
from solver.errors import Undefined
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.comparisons import decided
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.laws import rewritten
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.rungs.effort import RUNGS
from solver.samples.witness import Witness
from solver.samples.witness_search import free_symbol
from solver.terms.prop import Prop

LOOKED_AT: Final = 32
"""Newest facts about a symbol among which a compound question is looked up literally."""


class Question:
    """A proposition asked of facts inside a domain; `yes` and `no` are samples where it holds and where it does not."""

    __slots__ = ("canonical", "domain", "facts", "no", "prop", "rounds", "yes")

    def __init__(self, facts: Facts, prop: Prop, domain: Prop) -> None:
        self.facts = facts
        self.prop = prop
        self.domain = domain
        self.canonical, self.rounds = facts.canonical_prop(prop)
        self.yes: int | None = None
        self.no: int | None = None

    def goal(self, truth: bool) -> Prop:
        """The canonical proposition, or its negation."""
        return self.canonical if truth else self.canonical.negation

    def directions(self) -> tuple[bool, ...]:
        """The truths that no sample refutes."""
        return (True, False) if self.yes is None and self.no is None else (self.yes is not None,)

    def proven(self, truth: bool, proof: ProofStep | None, rung: str) -> Verdict:
        """The verdict by a proof of `goal(truth)`, which is rewritten into one of the proposition as it was asked."""
        if self.rounds:
            proof = rewritten(self.prop if truth else self.prop.negation, proof, self.rounds)
        assert proof is not None
        return (Always if truth else Never)(self.prop, self.domain, rung, proof, self.facts)

    def open(self, rung: str, true_at: Witness, false_at: Witness) -> Verdict:
        return Depends(self.prop, self.domain, rung, self.facts, true_at, false_at)

    def countered(self, truth: bool, found: Witness) -> Verdict:
        """The verdict by a counterexample to `goal(truth)`, beside the sample where that holds."""
        row = self.yes if truth else self.no
        assert row is not None
        sample = Witness(row)
        return self.open("search", *((sample, found) if truth else (found, sample)))


def inside(facts: Facts, prop: Prop, domain: Prop) -> Facts:
    """The facts with the domain of a question.

    Raises:
        Undefined: they refute it.
    """
    if domain.kind == "true":
        return facts
    canonical, _ = facts.canonical_prop(domain)
    if canonical.kind == "true" or prove_by_intervals(facts, canonical) is not None:
        return facts
    supposed = facts.suppose(domain, leaf="domain")
    if isinstance(supposed, Facts) and facts.samples.alive and not supposed.samples.alive:
        from solver.decide.consistency import inhabited  # loaded on demand, with the rungs

        supposed = inhabited(facts, supposed, domain)
    if isinstance(supposed, Conflict):
        raise Undefined(f"`{prop}` is undefined here: the facts refute `{domain}`")
    return supposed


def at_once(question: Question, rungs: frozenset[str] = RUNGS) -> Verdict | None:
    """The verdict by substitution, bounds, a free symbol, a recorded fact or the samples, if one of them decides."""
    facts, prop, domain, canonical = question.facts, question.prop, question.domain, question.canonical
    if canonical.kind in ("true", "false"):
        return question.proven(canonical.kind == "true", None, "substitution")
    if not canonical.parts and "bounds" in rungs:
        by_bounds = decided(facts, canonical)
        if by_bounds is not None:
            return question.proven(*by_bounds, "bounds")
    if domain.kind == "true" and "search" in rungs:
        both = free_symbol(facts, prop)
        if both is not None:
            return question.open("search", *both)
    if canonical.parts:
        for truth in (True, False):
            proof = prove_by_intervals(facts, question.goal(truth))
            if proof is not None:
                return question.proven(truth, proof, "bounds")
        for answer, p in ((Always, prop), (Never, prop.negation)):
            fact = recorded(facts, p)
            if fact is not None:
                return answer(prop, domain, "syntactic", ProofStep("fact", p, fact=fact), facts)
    question.yes, question.no = facts.samples.classify(canonical, domain)
    if question.yes is not None and question.no is not None:
        return question.open("samples", Witness(question.yes), Witness(question.no))
    return None


def recorded(facts: Facts, p: Prop) -> Fact | None:
    """The fact that states just this proposition, if it is among the newest about one of its symbols."""
    chains = [facts.samples.touching.get(atom.serial) for atom in p.symbols]
    touching = min([chain for chain in chains if chain is not None], key=lambda chain: chain.count, default=None)
    for _ in range(LOOKED_AT):
        if touching is None or None in chains:
            return None
        if touching.fact.prop is p:
            return touching.fact
        touching = touching.rest
    return None
