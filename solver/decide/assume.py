"""Assume a fact: learn what follows from it at once, then repair the samples that it refutes.

    >>> from solver.decide.assume import assume
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 999).declare_range(y, 0, 999)
    >>> fact = known.next_fact(terms.eq(x * y, 840))
    >>> learned, assumed = known.learn(fact), assume(known, fact)
    >>> len(learned.samples.alive) < len(assumed.samples.alive)
    True

Where the new fact refutes all samples and none can be repaired, the facts may contradict each other. That is answered
at once, so that a conflict is reported where it arises (see `solver.decide.consistency`).
"""

from __future__ import annotations

from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact
from solver.samples.replenish import replenished
from solver.terms.depth import SHALLOW, room_for


def assume(facts: Facts, fact: Fact) -> Facts | Conflict:
    """The facts with one more; a contradiction is data."""
    depth = fact.prop.depth
    if depth > SHALLOW:
        with room_for(depth):
            return _sampled(facts, facts.learn(fact), fact)
    return _sampled(facts, facts.learn(fact), fact)


def _sampled(before: Facts, facts: Facts | Conflict, newest: Fact) -> Facts | Conflict:
    """The facts after a new one: where that refuted most samples, with repaired ones or with one found by search, or
    the conflict.
    """
    if isinstance(facts, Conflict) or len(facts.samples.alive) >= facts.samples.enough:
        return facts
    facts = facts.with_samples(replenished(before.samples, facts.samples, facts, newest))
    if facts.samples.alive:
        return facts
    from solver.decide.consistency import restore  # loaded on demand, with the rungs

    return restore(facts, before.samples.alive, newest, [atom for atom, _ in facts.eliminated])
