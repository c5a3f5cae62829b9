"""Search for proofs and witnesses, where a question is not answered at once.

The rungs search for a proof in each direction that the samples leave, until one finds it or the work budget is spent. A
second witness, found by search or at a point of a relaxation, ends the question as open.

    >>> from solver.decide.search import attempt
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 2, None).declare_range(y, 2, None)
    >>> verdict, work = attempt(known, terms.ge(x * y, x + y), terms.true, effort="default", work=10_000)
    >>> verdict.rung
    'shift'
"""

from __future__ import annotations

from typing import Final

from solver.decide.consistency import consistency, revived
from solver.decide.prover import LadderProver
from solver.decide.question import Question, at_once, inside
from solver.decide.quotient_lemmas import quotient_lemmas
from solver.decide.rungs import SIMPLE
from solver.decide.slicing import ATTEMPTS, RESAMPLED, completed, slice_of, with_sample
from solver.decide.verdict import Depends, GaveUp, Verdict
from solver.errors import Contradictory
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.facts import Conflict, Consistent, Facts, Tried
from solver.knowledge.laws import rewritten
from solver.proofs.step import ProofStep
from solver.rungs.effort import EFFORTS, Effort
from solver.rungs.prover import Open
from solver.samples.witness import Witness
from solver.samples.witness_search import difference_search, divisor_search, find, grid_search
from solver.terms.deadline import Late
from solver.terms.prop import Prop

RESAMPLING: Final = {"fast": 0, "default": 160_000, "thorough": 400_000}
"""The work budget of all slices of one question with other samples; learned slices have a budget each."""
UNDECIDED: Final = "no rung decided it within its budget"
SEARCHING: Final = frozenset(("bounds", "search"))
"""The rungs of an attempt that looks for a witness alone."""


def attempt(
    facts: Facts,
    prop: Prop,
    domain: Prop,
    *,
    effort: Effort,
    work: int,
    forks: int | None = None,
    solvers: bool = True,
) -> tuple[Verdict, int]:
    """The verdict within a work budget, without asking the slice of the question; and the work spent.

    Raises:
        Undefined, Contradictory: as `decide` does.
    """
    facts = inside(facts, prop, domain)
    prover = LadderProver(facts, effort, solvers=solvers and effort == "thorough")
    prover.sliced = True
    prover.limited = work < prover.work
    prover.work = before = min(prover.work, work)
    if forks is not None:
        prover.forks = min(prover.forks, forks)
    verdict = _decided(facts, prop, domain, prover)
    return verdict, before - prover.work


def searched(
    question: Question, effort: Effort, *, solvers: bool, rungs: frozenset[str]
) -> Verdict:
    """The verdict on a question that is not answered at once (see `solver.decide.ladder.decide`)."""
    prover = LadderProver(question.facts, effort, solvers=solvers and effort == "thorough", rungs=rungs)
    try:
        return _searched(question, prover)
    except Late as late:
        late.tried, late.work = tuple(prover.tried), prover.spent_in_all
        raise


def _decided(facts: Facts, prop: Prop, domain: Prop, prover: LadderProver) -> Verdict:
    question = Question(facts, prop, domain)
    verdict = at_once(question, prover.rungs)
    return _searched(question, prover) if verdict is None else verdict


def _searched(question: Question, prover: LadderProver) -> Verdict:
    """The verdict by search: for proofs in each direction that the samples leave, and for a second witness."""
    facts, domain = question.facts, question.domain
    before = facts.memos.unknown.get((question.canonical, domain, prover.rungs))
    if before is not None and before.effort >= EFFORTS[prover.effort] + prover.solvers:
        # the same canonical form was tried, with as much effort
        return GaveUp(question.prop, domain, UNDECIDED, before.rungs)
    alive = facts.samples.alive
    if not alive:
        sampled = _with_sample(facts, prover)
        if sampled is not None:
            prover.facts = sampled
            return _decided(sampled, question.prop, domain, prover)
    directions = question.directions()
    for truth in directions:
        prover.rung = ""
        proof = _cheap(prover, facts, question.goal(truth))
        if proof is not None:
            return question.proven(truth, proof, prover.rung)
    if prover.allows("search") and len(directions) == 1:
        truth = directions[0]
        opposite = question.goal(not truth)
        budget = prover.budget_of(prover.work)
        found = find(facts, opposite, domain, rows=2, effort=1, budget=budget)
        if found is None:
            found = difference_search(facts, opposite, domain, budget=budget)
        if found is None:
            found = divisor_search(facts, opposite, domain, row=alive[0], budget=budget)
        prover.work = budget.work
        if found is not None:
            return question.countered(truth, found)
    lemmas = [] if prover.derived else quotient_lemmas(prover, facts, question.canonical)
    if lemmas:
        prover.derived = True
        known = facts.derive(lemmas)
        if isinstance(known, Conflict):
            raise Contradictory(known.core, known.proof)
        prover.facts = known
        return _decided(known, question.prop, domain, prover)
    for truth in directions:
        goal = question.goal(truth)
        prover.rung = ""
        prover.opposite = (domain, goal.negation) if len(directions) == 1 else None
        prover.base = alive[0] if alive else None
        try:
            proof = prover.prove_canonical(facts, goal, 0)
        except Open as opened:
            return question.countered(truth, opened.witness)
        if proof is not None:
            return question.proven(truth, proof, prover.rung or "parts")
    return _last_rungs(question, prover, directions)


def _cheap(prover: LadderProver, facts: Facts, goal: Prop) -> ProofStep | None:
    """A proof by the rungs that cost less than a witness search."""
    smaller = without_factors(facts, goal) if prover.allows("factor") else None
    if smaller is not None:
        canonical, rounds = facts.canonical_prop(smaller.goal)
        proof = prove_by_intervals(facts, canonical) or _cheap(prover, facts, canonical)
        if proof is None:
            return None
        prover.rung = "factor"
        if rounds:
            proof = rewritten(smaller.goal, proof if canonical.kind != "true" else None, rounds)
        return factored(smaller, goal, proof)
    if goal.kind == "ge":
        return prover.prove_by(SIMPLE, facts, goal, 0)
    if goal.kind == "ne":
        return prover.prove_apart(facts, goal)
    return None


def _last_rungs(question: Question, prover: LadderProver, directions: tuple[bool, ...]) -> Verdict:
    """The longer search for a second witness, the slice of the question, then the solvers."""
    facts, prop, domain = question.facts, question.prop, question.domain
    if prover.allows("search") and len(directions) == 1 and prover.effort != "fast":
        truth = directions[0]
        opposite = question.goal(not truth)
        before = prover.search
        budget = prover.budget_of(before)
        found = grid_search(facts, opposite, domain, row=facts.samples.alive[0], budget=budget)
        if found is None:
            found = find(facts, opposite, domain, rows=8, effort=4, budget=budget)
        prover.spent += before - budget.work
        if found is not None:
            return question.countered(truth, found)
    if not prover.sliced and prover.effort != "fast":
        verdict = _of_slice(question, prover)
        if verdict is not None:
            return verdict
    if prover.solvers:
        from solver.rungs.solvers import complete, prove  # loaded on demand

        for truth in directions:
            outcome = prove(prover, facts, question.goal(truth), domain)
            if isinstance(outcome, ProofStep):
                return question.proven(truth, outcome, prover.rung)
            row = question.yes if truth else question.no
            if isinstance(outcome, dict) and row is not None:
                full = complete(facts, outcome, domain, prop.negation if truth else prop)
                if full is not None:
                    return question.countered(truth, Witness(row, full))
    tried = tuple(prover.tried)
    effort = EFFORTS[prover.effort] + prover.solvers
    for truth in () if prover.limited else (True, False):
        facts.memos.unknown[question.goal(truth), domain, prover.rungs] = Tried(effort, tried)
    return GaveUp(prop, domain, UNDECIDED, tried, work=prover.spent_in_all)


def _of_slice(question: Question, prover: LadderProver) -> Verdict | None:
    """The answer of the facts that the question can depend on, learned in canonical order (`solver.decide.slicing`).

    Raises:
        Contradictory: these refute themselves.
    """
    facts, prop, domain = question.facts, question.prop, question.domain
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
        if left <= 0:
            return None
        known = inside(found.known, prop, domain)
        rungs = prover.rungs if attempt < ATTEMPTS else prover.rungs & SEARCHING
        again = LadderProver(known, "default", rungs=rungs)
        again.sliced = True
        if attempt >= ATTEMPTS:
            again.search = min(again.search, left)
        verdict = _decided(known, prop, domain, again)
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


def _with_sample(facts: Facts, prover: LadderProver) -> Facts | None:
    """Facts without samples, with one; None where it stays unknown whether there is any.

    Raises:
        Contradictory: there is none.
    """
    sampled = None if prover.sliced or prover.effort == "fast" else with_sample(facts)
    if isinstance(sampled, Conflict):
        raise Contradictory(sampled.core, sampled.proof)
    if sampled is not None:
        return sampled
    match consistency(facts, solvers=prover.solvers):
        case Conflict(core=core, proof=proof):
            raise Contradictory(core, proof)
        case Consistent(witness=witness):
            return revived(facts, Witness(0, witness))
        case _:
            return None
