"""Are the facts satisfiable? A model, a conflict with its unsat core, or unknown.

    >>> from solver.decide.assume import assume
    >>> from solver.decide.consistency import consistency
    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, None, None).declare_range(y, None, None)
    >>> known = assume(known, known.next_fact(terms.ge(1000 * x - 999 * y, 1)))
    >>> consistency(known).witness == known.witness()
    True

Facts keep samples that satisfy them, so the question arises only when a new fact refutes them all. It is answered at
once, so that a conflict is reported where it arises: the linear relaxation near the new fact is refined as for any
question, and its points are tried as samples. What stays unknown goes to z3, but only on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from solver.decide.prover import LadderProver
from solver.knowledge.facts import Conflict, Consistent, Facts, Unknown
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.rungs import refine
from solver.rungs.prover import Open
from solver.samples.witness import Witness
from solver.samples.witness_search import find
from solver.terms.expr import Atom
from solver.terms.prop import Prop

ALL: Final = 400
"""Facts handed to z3 at most when it checks the consistency of all."""


def consistency(facts: Facts, *, solvers: bool = True) -> Consistent | Conflict | Unknown:
    """Decide whether the facts are satisfiable."""
    witness = facts.witness()
    if witness is not None:
        return Consistent(witness)
    if not solvers:
        return Unknown("no sample was found, and no contradiction")
    found = facts.memos.consistency
    if found is None:
        found = facts.memos.consistency = _by_z3(facts)
    return found


def _by_z3(facts: Facts) -> Consistent | Conflict | Unknown:
    """Ask z3 for a model of all facts, or for a refutation."""
    from solver.interop import z3  # loaded on demand, as what puts questions to it
    from solver.rungs.solvers import complete, leaves_of

    leaves = [leaf for fact in facts.records() for leaf in leaves_of(fact)]
    if len(leaves) > ALL:
        return Unknown(f"{len(leaves)} facts are more than z3 is given")
    false = Prop.truth(facts.interner, False)
    outcome = z3.entails([leaf.conclusion for leaf in leaves], false, z3.Limits(terms=4000))
    if isinstance(outcome, z3.Proved):
        return Conflict(ProofStep("z3", false, tuple([leaves[i] for i in outcome.core])))
    if isinstance(outcome, z3.Refuted):
        values = complete(facts, outcome.model, Prop.truth(facts.interner, True), Prop.truth(facts.interner, True))
        if values is not None:
            return Consistent(values)
    return Unknown("z3 answered unknown within its limits")


def restore(facts: Facts, rows: Sequence[int], newest: Fact, solved: Sequence[Atom]) -> Facts | Conflict:
    """Facts that a new one has left without samples: with a sample where search finds one, or the conflict.

    Args:
        rows: the samples that satisfied all facts but the newest.
        solved: the symbols that the newest has eliminated.
    """
    supposed = [ProofStep("fact", newest.prop, fact=newest)]
    if newest.domain.kind != "true":
        supposed.append(ProofStep("domain", newest.domain, fact=newest))
    found = _searched(facts, supposed, rows[0] if rows else None, solved)
    return found if isinstance(found, Facts) else Conflict(found, facts)


def inhabited(facts: Facts, inside: Facts, domain: Prop) -> Facts | Conflict:
    """Facts inside a domain that contains no sample: with a sample if search finds one, or the conflict."""
    found = find(facts, domain, Prop.truth(facts.interner, True))
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
