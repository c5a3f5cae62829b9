"""Are the facts satisfiable? A model, a conflict with its unsat core, or unknown.

    >>> from solver.decide.consistency import consistency
    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, None, None).declare_range(y, None, None)
    >>> known = known.assume_prop(terms.ge(1000 * x - 999 * y, 1))
    >>> consistency(known).witness == known.witness()
    True

Facts keep samples that satisfy them, so the question arises only when a new fact refutes them all. It is answered at
once, so that a conflict is reported where it arises: the linear relaxation near the new fact is refined as for any
question, and its points are tried as samples. What stays unknown goes to z3, but only on demand.
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
    """Whether the facts are satisfiable."""
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
    """The facts after a new one that refuted most samples: with repaired samples, with one found by search, or the
    conflict.
    """
    facts.samples = replenished(before, facts.samples, facts, newest)
    if facts.samples.alive:
        return facts
    return restore(facts, before.alive, newest, [atom for atom, _ in facts.eliminated])


def restore(facts: Facts, rows: Sequence[int], newest: Fact, solved: Sequence[Atom]) -> Facts | Conflict:
    """Facts that a new one has left without samples: with a sample where search finds one, or the conflict.

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
    """Facts inside a domain that contains no sample: with a sample if search finds one, or the conflict."""
    found = find(facts, domain, facts.interner.true)
    if found is not None:
        return revived(inside, found)
    searched = _searched(inside, [ProofStep("domain", domain)], facts.samples.alive[0], ())
    return searched if isinstance(searched, Facts) else Conflict(searched)


def _searched(
    facts: Facts, supposed: Sequence[ProofStep], row: int | None, solved: Sequence[Atom]
) -> Facts | ProofStep:
    """The facts, with a sample if one was found, or the refutation."""
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
    """The facts with one sample."""
    return facts.with_samples(facts.samples.with_row(witness.row, witness.moved or {}))


__all__ = ["Consistent", "Unknown", "consistency", "inhabited", "restore", "revived", "sampled"]
