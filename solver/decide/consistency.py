"""Can the facts hold together? An assignment that satisfies them all, a contradiction with its core, or neither found.

    >>> from solver.decide.consistency import consistency
    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, None, None).declare_range(y, None, None)
    >>> known = known.assume_prop(terms.ge(1000 * x - 999 * y, 1))
    >>> consistency(known).witness == known.witness()
    True

Every set of facts keeps samples that satisfy it, so the question comes up only when a new fact leaves none. Then it is
asked at once, so that a contradiction shows where it was made: the linear relaxation of what is near the new fact is
refined as for any question, and its points are tried as samples. What this leaves open is asked of z3, but only when
something wants to know.
"""

from __future__ import annotations

from collections.abc import Sequence

from solver.decide.prover import LadderProver
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.samples import Samples
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.rungs import refine
from solver.rungs.prover import Open
from solver.rungs.solvers import Consistent, Unknown
from solver.rungs.solvers import consistency as by_solver
from solver.samples.replenish import replenished
from solver.samples.witness import Witness
from solver.samples.witness_search import find
from solver.terms.expr import Atom
from solver.terms.prop import Prop


def consistency(facts: Facts, *, solvers: bool = True) -> Consistent | Conflict | Unknown:
    """Whether the facts can hold together."""
    witness = facts.witness()
    if witness is not None:
        return Consistent(witness)
    if not solvers:
        return Unknown("no sample was found, and no contradiction")
    found = facts.scratch.get(consistency)
    if found is None:
        found = facts.scratch[consistency] = by_solver(facts)
    assert isinstance(found, (Consistent, Conflict, Unknown))
    return found


def sampled(facts: Facts, before: Samples, newest: Fact) -> Facts | Conflict:
    """Facts that a new one has left with few of the samples before it: with some repaired, or one that is searched for,
    or the contradiction.
    """
    facts.samples = replenished(before, facts.samples, facts, newest)
    if facts.samples.alive:
        return facts
    return restore(facts, before.alive, newest, [atom for atom, _ in facts.eliminated])


def restore(facts: Facts, rows: Sequence[int], newest: Fact, solved: Sequence[Atom]) -> Facts | Conflict:
    """Facts that a new one has left without samples: with one again where it can be found, or the contradiction.

    Args:
        rows: the samples that satisfied all facts but the newest.
        solved: what the newest has eliminated.
    """
    supposed = [ProofStep("fact", newest.prop, fact=newest)]
    if newest.domain.kind != "true":
        supposed.append(ProofStep("domain", newest.domain, fact=newest))
    found = _searched(facts, supposed, rows[0] if rows else None, solved)
    return found if isinstance(found, Facts) else Conflict(found, facts)


def inhabited(facts: Facts, inside: Facts, domain: Prop) -> Facts | Conflict:
    """Facts inside the domain of a question that no sample of the facts lies in: with a sample where one can be found,
    or the contradiction.
    """
    found = find(facts, domain, facts.interner.true)
    if found is not None:
        return revived(inside, found)
    searched = _searched(inside, [ProofStep("domain", domain)], facts.samples.alive[0], ())
    return searched if isinstance(searched, Facts) else Conflict(searched)


def _searched(
    facts: Facts, supposed: Sequence[ProofStep], row: int | None, solved: Sequence[Atom]
) -> Facts | ProofStep:
    """The facts, with a sample if one was found, or the proof of a contradiction."""
    prover = LadderProver(facts)
    prover.opposite = tuple([proof.conclusion for proof in supposed])
    prover.base = row
    prover.solved = tuple(solved)
    try:
        false = refine.contradiction(prover, facts, [each for proof in supposed for each in refine.conjuncts(proof)], 0)
    except Open as found:
        return revived(facts, found.witness)
    return facts if false is None else false


def revived(facts: Facts, witness: Witness) -> Facts:
    """The facts with a sample."""
    return facts.with_samples(facts.samples.with_row(witness.row, witness.moved or {}))


__all__ = ["Consistent", "Unknown", "consistency", "inhabited", "restore", "revived", "sampled"]
