"""Clear denominators: multiply an equality of exact quotients by their divisors.

Where `n == d*(n//d)` is known, an equality about `n//d` is one about n once it is multiplied by d, which is not zero:

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.rungs import multiplied
    >>> terms = Interner()
    >>> a, b, c, d = (terms.symbol(name) for name in "abcd")
    >>> known = Facts.empty(terms).declare_range(a, 0, None).declare_range(b, 0, None).declare_range(c, 0, None)
    >>> known = known.declare_range(d, 1, None)
    >>> for n in (a * c, b * c):
    ...     known = known.learn_prop(terms.divides(d, n))
    >>> multiplied.prove(known, terms.eq(a * c // d * b, b * c // d * a))
    <factored: a*(b*c//d) == b*(a*c//d)>
"""

from __future__ import annotations

from typing import Final

from solver.knowledge import exact_quotients
from solver.knowledge.base import Knowledge
from solver.knowledge.by_intervals import prove_nonzero
from solver.knowledge.laws import rewritten
from solver.knowledge.shift import direct_atoms
from solver.proofs.step import ProofStep
from solver.terms.expr import Expr
from solver.terms.prop import Prop

TERMS: Final = 8
TRIED: Final = 4


def prove(known: Knowledge, goal: Prop) -> ProofStep | None:
    """The goal, an equality or disequality, if clearing the denominator of a quotient in it decides it."""
    exact = exact_quotients.prove(known, goal)
    if exact is not None:
        return exact
    e = goal.expr
    if len(e.terms) > TERMS:
        return None
    divisors: dict[Expr, None] = {}
    for atom in direct_atoms(e):
        if atom.kind == "floordiv":
            divisor = atom.args[1]
            assert isinstance(divisor, Expr)
            if len(divisor.terms) == 1 and divisor.terms[0][1] == 1 and not divisor.constant:
                divisors[divisor] = None
    for divisor in list(divisors)[:TRIED]:
        whole = goal.of(e * divisor)
        canonical, rounds = known.canonical_prop(whole)
        if canonical.kind != "true" or not rounds:
            continue
        factors = sorted(set(known.interner.monomials[divisor.terms[0][0]]), key=lambda factor: factor.key)
        nonzero = [prove_nonzero(known, Prop.zero(factor.expr).negation) for factor in factors]
        signs = [proof for proof in nonzero if proof is not None]
        if len(signs) == len(factors):
            return ProofStep("factored", goal, (rewritten(whole, None, rounds), *signs), (divisor, e, "eq"))
    return None
