"""Isolate a floor division: alone on one side of an inequality, it is a product on the other.

For D > 0, `N//D >= l` is `N >= D*l`, and `N//D <= h` is `N < D*(h + 1)`:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> n, d, k = (terms.symbol(name) for name in "ndk")
    >>> known = Facts.empty(terms).declare_range(n, 0, None).declare_range(d, 1, None).declare_range(k, 0, None)
    >>> known = known.learn_prop(terms.lt(n, d * k))
    >>> decide(known, terms.lt(n // d, k)).rung
    'isolate'
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.facts import Facts
from solver.knowledge.isolation import isolations
from solver.proofs.step import ProofStep
from solver.rungs.prover import Prover
from solver.terms.prop import Prop

NESTED: Final = 3


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """An inequality in which a quotient by a symbolic divisor occurs once, with coefficient 1 or -1."""
    if goal.kind != "ge" or depth > NESTED:
        return None
    for isolated in isolations(facts, goal.expr):
        if isolated.d.is_constant:
            continue  # its laws are linear, so the linear rung knows them
        proof = prover.prove(facts, isolated.goal(), depth + 1)
        if proof is not None:
            return isolated.proof(facts, goal, proof)
    return None
