"""Does a proposition follow from the facts? The rungs in order, and what they cost.

`decide` brings the question into canonical form, then asks cheap rungs first. Bounds settle most questions; the samples
of the facts show which are open and in which direction the others are worth proving; the rest is climbed rung by rung
until one proves it or the budget is used up.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 0, None).declare_range(s, 0, None)
    >>> known = known.assume_prop(terms.divides(16, s))
    >>> decide(known, terms.divides(64, b * s))
    Depends(true_at={'b': ..., 's': ...}, false_at={'b': ..., 's': ...})
    >>> decide(known.assume_prop(terms.divides(4, b)), terms.divides(64, b * s)).rung
    'substitution'
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import Final

from solver.bounds.by_intervals import prove_by_intervals
from solver.bounds.laws import rewritten
from solver.decide.consistency import Consistent, consistency, inhabited, revived
from solver.decide.paranoid import audit
from solver.decide.prover import LadderProver
from solver.decide.slicing import ATTEMPTS, RESAMPLED, completed, slice_of
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import Contradictory, Undefined
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.rungs import bounds
from solver.rungs.prover import EFFORTS, RUNGS, WORK, Effort, Open
from solver.rungs.solvers import complete
from solver.rungs.solvers import prove as prove_by_solvers
from solver.samples.witness import Witness
from solver.samples.witness_search import divisor_search, find, free_symbol, grid_search
from solver.terms.depth import SHALLOW, room_for
from solver.terms.prop import Prop

LOOKED_AT: Final = 32
"""Facts about a symbol among which a compound question is looked for word by word."""
RESAMPLING: Final = {"fast": 0, "default": 160_000, "thorough": 400_000}
"""What the slices of one question with other samples may cost together; those that are learned have a budget each."""
SEARCHING: Final = frozenset(("bounds", "search"))
"""The rungs of an attempt from which only a witness is expected."""
PARANOID: Final = os.environ.get("SHAPES_PARANOID", "") not in ("", "0")
"""Whether every verdict is checked again and cross-checked with z3 (see `solver.decide.paranoid`)."""


def decide(
    facts: Facts,
    prop: Prop,
    *,
    domain: Prop | None = None,
    effort: Effort = "thorough",
    timeout: float | None = None,
    solvers: bool = True,
    rungs: frozenset[str] = RUNGS,
) -> Verdict:
    """Whether the proposition follows from the facts, inside its domain.

    Args:
        domain: where the question makes sense; assignments outside are left out of consideration.
        effort: the budget (`WORK` and `FORKS` of `solver.rungs.prover`), counted in work, so that an answer does not
            depend on
            the machine; only "thorough" asks sympy and z3.
        timeout: seconds after which it is given up, whatever the effort allows.
        solvers: whether a thorough question may ask sympy and z3.
        rungs: the rungs that may be used; for measurements.

    Raises:
        Undefined: the facts refute the domain.
        Contradictory: the facts refute themselves. (Where that is only possible, what is proven is still proven.)
    """
    if domain is None:
        domain = facts.interner.true
    facts = _inside(facts, prop, domain)
    if prop.kind == "true":
        return Always(prop, domain, "syntactic", ProofStep("trivial", prop))
    if prop.kind == "false":
        return Never(prop, domain, "syntactic", ProofStep("trivial", prop.negation))
    started = perf_counter()
    prover = LadderProver(
        facts,
        effort=effort,
        solvers=solvers and effort == "thorough",
        rungs=rungs,
        deadline=None if timeout is None else started + timeout,
    )
    if prop.depth > SHALLOW:
        with room_for(prop.depth):
            verdict = _decide(prover, facts, prop, domain)
    else:
        verdict = _decide(prover, facts, prop, domain)
    if isinstance(verdict, GaveUp):
        verdict.seconds = perf_counter() - started
    if PARANOID:
        audit(verdict)
    return verdict


def attempt(facts: Facts, prop: Prop, domain: Prop, *, effort: Effort, work: int) -> tuple[Verdict, int]:
    """The same within so much work, and not asked once more of its slice. With the work that it took.

    Raises:
        Undefined, Contradictory: as above.
    """
    facts = _inside(facts, prop, domain)
    prover = LadderProver(facts, effort=effort, solvers=effort == "thorough")
    prover.sliced = True
    prover.work = before = min(prover.work, work)
    verdict = _decide(prover, facts, prop, domain)
    return verdict, before - prover.work


def _inside(facts: Facts, prop: Prop, domain: Prop) -> Facts:
    """The facts with the domain of a question."""
    if domain.kind == "true":
        return facts
    canonical, _ = facts.canonical_prop(domain)
    if canonical.kind == "true" or prove_by_intervals(facts, canonical) is not None:
        return facts
    inside = facts.suppose(domain, leaf="domain")
    if isinstance(inside, Facts) and facts.samples.alive and not inside.samples.alive:
        inside = inhabited(facts, inside, domain)
    if isinstance(inside, Conflict):
        raise Undefined(f"`{prop}` makes no sense here: the facts refute `{domain}`")
    return inside


def _decide(prover: LadderProver, facts: Facts, prop: Prop, domain: Prop) -> Verdict:
    canonical, rounds = facts.canonical_prop(prop)

    def settle(truth: bool, proof: ProofStep | None, rung: str) -> Verdict:
        if rounds:
            proof = rewritten(prop if truth else prop.negation, proof, rounds)
        assert proof is not None
        return (Always if truth else Never)(prop, domain, rung, proof, facts)

    if canonical.kind in ("true", "false"):
        return settle(canonical.kind == "true", None, "substitution")
    if not canonical.parts and "bounds" in prover.rungs:
        settled = bounds.settle(facts, canonical)
        if settled is not None:
            return settle(*settled, "bounds")
    if domain.kind == "true" and "search" in prover.rungs:
        both = free_symbol(facts, prop)
        if both is not None:
            return Depends(prop, domain, "search", facts, *both)
    if canonical.parts:
        for truth, p in ((True, canonical), (False, canonical.negation)):
            proof = prove_by_intervals(facts, p)
            if proof is not None:
                return settle(truth, proof, "bounds")
        for settled_as, p in ((Always, prop), (Never, prop.negation)):
            fact = recorded(facts, p)
            if fact is not None:
                return settled_as(prop, domain, "syntactic", ProofStep("fact", p, fact=fact), facts)
    samples = facts.samples
    yes, no = samples.classify(canonical, domain)
    if yes is not None and no is not None:
        return Depends(prop, domain, "samples", facts, Witness(yes), Witness(no))
    before = facts.scratch.get((GaveUp, canonical, domain, prover.rungs))
    if isinstance(before, tuple) and before[0] >= EFFORTS[prover.effort] + prover.solvers:
        return GaveUp(prop, domain, before[1].reason, before[1].tried)  # its form was tried, with as much effort
    if not samples.alive:
        sampled = _with_sample(facts, solvers=prover.solvers)
        if sampled is not None:
            prover.facts = sampled
            return _decide(prover, sampled, prop, domain)
    directions = (True, False) if yes is None and no is None else (yes is not None,)
    for truth in directions:
        goal = canonical if truth else canonical.negation
        prover.rung = ""
        proof = _cheap(prover, facts, goal)
        if proof is not None:
            return settle(truth, proof, prover.rung)
    if prover.allows("search") and len(directions) == 1:
        truth = directions[0]
        opposite = canonical.negation if truth else canonical
        budget = prover.budget_of(prover.work)
        found = find(facts, opposite, domain, rows=2, effort=1, budget=budget)
        if found is None:
            found = divisor_search(facts, opposite, domain, row=samples.alive[0], budget=budget)
        prover.work = budget.work
        if found is not None:
            return _open(prover, facts, prop, domain, truth, yes if truth else no, found)
    for truth in directions:
        goal = canonical if truth else canonical.negation
        prover.rung = ""
        prover.opposite = (domain, goal.negation) if len(directions) == 1 else None
        prover.base = samples.alive[0] if samples.alive else None
        try:
            proof = prover.prove_canonical(facts, goal, 0)
        except Open as opened:
            return _open(prover, facts, prop, domain, truth, yes if truth else no, opened.witness)
        if proof is not None:
            return settle(truth, proof, prover.rung or "parts")
    return _last_rungs(prover, facts, prop, canonical, domain, directions, yes, no, settle)


def recorded(facts: Facts, p: Prop) -> Fact | None:
    """The fact that says just this, if it is among the newest about one of its symbols."""
    chains = [facts.samples.touching.get(atom.serial) for atom in p.symbols]
    touching = min([chain for chain in chains if chain is not None], key=lambda chain: chain.count, default=None)
    for _ in range(LOOKED_AT):
        if touching is None or None in chains:
            return None
        if touching.fact.prop is p:
            return touching.fact
        touching = touching.rest
    return None


def _cheap(prover: LadderProver, facts: Facts, goal: Prop) -> ProofStep | None:
    """What is cheaper than looking for a witness."""
    if goal.kind == "ge":
        return prover.prove_simply(facts, goal.expr)
    if goal.kind == "ne":
        return prover.prove_apart(facts, goal)
    return None


def _open(
    prover: LadderProver, facts: Facts, prop: Prop, domain: Prop, truth: bool, row: int | None, found: Witness
) -> Verdict:
    assert row is not None
    first = Witness(row)
    return Depends(prop, domain, "search", facts, first if truth else found, found if truth else first)


def _last_rungs(
    prover: LadderProver,
    facts: Facts,
    prop: Prop,
    canonical: Prop,
    domain: Prop,
    directions: tuple[bool, ...],
    yes: int | None,
    no: int | None,
    settle: Callable[[bool, ProofStep | None, str], Verdict],
) -> Verdict:
    """The longer search for a second witness, then the solvers."""
    if prover.allows("search") and len(directions) == 1 and prover.effort != "fast":
        truth = directions[0]
        opposite = canonical.negation if truth else canonical
        before = prover.search
        budget = prover.budget_of(before)
        found = grid_search(facts, opposite, domain, row=facts.samples.alive[0], budget=budget)
        if found is None:
            found = find(facts, opposite, domain, rows=8, effort=4, budget=budget)
        prover.spent += before - budget.work
        if found is not None:
            return _open(prover, facts, prop, domain, truth, yes if truth else no, found)
    if not prover.sliced and prover.effort != "fast" and not prover.is_late():
        verdict = _of_slice(prover, facts, prop, domain)
        if verdict is not None:
            return verdict
    if prover.solvers and not prover.is_late():
        for truth in directions:
            goal = canonical if truth else canonical.negation
            outcome = prove_by_solvers(prover, facts, goal, domain)
            if isinstance(outcome, ProofStep):
                return settle(truth, outcome, prover.rung)
            if isinstance(outcome, dict):
                full = complete(facts, outcome, domain, prop if not truth else prop.negation)
                if full is not None:
                    row = yes if truth else no
                    if row is not None:
                        return _open(prover, facts, prop, domain, truth, row, Witness(row, full))
    tried, work = tuple(prover.tried), WORK[prover.effort] - prover.work + prover.spent
    if prover.is_late():
        return GaveUp(prop, domain, "no rung settled it before its timeout", tried, work=work)
    gave_up = GaveUp(prop, domain, "no rung settled it within its budget", tried, work=work)
    for form in (canonical, canonical.negation):
        facts.scratch[GaveUp, form, domain, prover.rungs] = (EFFORTS[prover.effort] + prover.solvers, gave_up)
    return gave_up


def _of_slice(prover: LadderProver, facts: Facts, prop: Prop, domain: Prop) -> Verdict | None:
    """The answer of the facts that the question depends on alone, learned in canonical order (see
    `solver.decide.slicing`).

    Raises:
        Contradictory: these refute themselves.
    """
    left = RESAMPLING[prover.effort]
    for attempt in range(ATTEMPTS + RESAMPLED):
        found = slice_of(facts, prop, domain, attempt)
        if found is None:
            return None
        if isinstance(found.known, Conflict):
            raise Contradictory(found.known.core, found.known.proof)
        left -= found.cost if attempt >= ATTEMPTS else 0
        prover.spent += found.cost
        if found.known is None:
            continue
        if prover.is_late() or left <= 0:
            return None
        known = _inside(found.known, prop, domain)
        rungs = prover.rungs if attempt < ATTEMPTS else prover.rungs & SEARCHING
        again = LadderProver(known, effort="default", rungs=rungs, deadline=prover.deadline)
        again.sliced = True
        if attempt >= ATTEMPTS:
            again.search = min(again.search, left)
        verdict = _decide(again, known, prop, domain)
        if isinstance(verdict, Depends):
            true, false = [completed(facts, values) for values in verdict.found]
            if true is None or false is None:
                return None
            return Depends(prop, domain, verdict.rung, facts, Witness.of(true), Witness.of(false))
        if not isinstance(verdict, GaveUp):
            return verdict
        left -= verdict.work if attempt >= ATTEMPTS else 0
        prover.spent += verdict.work
    return None


def _with_sample(facts: Facts, *, solvers: bool) -> Facts | None:
    """Facts without samples, with one; None where it stays unknown whether there is any.

    Raises:
        Contradictory: there is none.
    """
    outcome = consistency(facts, solvers=solvers)
    match outcome:
        case Conflict(core=core, proof=proof):
            raise Contradictory(core, proof)
        case Consistent(witness=witness):
            return revived(facts, Witness(0, witness))
        case _:
            return None


__all__ = ["RUNGS", "decide"]
