"""Consequences of facts about min and max for their arguments.

A minimum that is at least k has arguments that are, a maximum that is at most k has none that is larger; and a minimum
of sizes that is not zero is at least one:

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b, c = (terms.symbol(name) for name in "abc")
    >>> known = Facts.empty(terms)
    >>> for symbol in (a, b, c):
    ...     known = known.declare_range(symbol, 0, None)
    >>> known = known.learn_prop(terms.ne(terms.minimum(terms.minimum(a, b), c), 0))
    >>> known.low(a), known.low(b), known.low(c)
    (1, 1, 1)

Both are written with `relu(X) = max(X, 0)`: `G - k*relu(X) >= 0`, k > 0, holds if and only if `G >= 0` and
`G - k*X >= 0`.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge import extremes
from solver.knowledge.base import Knowledge
from solver.proofs.step import ProofStep, axiom, combine, hypothesis, multiply_equality, refute, strengthen
from solver.terms.expr import Expr
from solver.terms.polynomials import exact_quotient, factors_of
from solver.terms.prop import Prop

CLAMPS: Final = 4
"""Clamps in an inequality that is split; independent ones would be removed in every combination."""


def unclamped(known: Knowledge, p: Prop, proof: ProofStep) -> list[ProofStep]:
    """Both sides of the clamp with the largest argument, where they are informative.

    They hold further clamps.
    """
    e = p.expr
    monomials = e.interner.monomials
    clamps = [
        (c, monomials[m][0]) for m, c in e.terms if c < 0 and len(monomials[m]) == 1 and monomials[m][0].kind == "relu"
    ]
    if not clamps or len(clamps) > CLAMPS:
        return []
    c, atom = max(clamps, key=lambda each: (each[1].depth, each[1].key))
    (argument,) = atom.args
    assert isinstance(argument, Expr)
    found = []
    for law in (
        axiom(Prop.nonnegative(atom.expr), (atom, "above zero")),
        axiom(Prop.nonnegative(atom.expr - argument), (atom, "above argument")),
    ):
        side = combine([proof, law], [1, -c])
        low = known.low(side.conclusion.expr)
        if low is None or low < 0:
            found.append(side)
    return found


def one_sided(known: Knowledge, apart: ProofStep) -> ProofStep | None:
    """`e >= 1` from `e != 0`, where e is nonnegative by its clamps; or `-e >= 1`."""
    e = apart.conclusion.expr
    if extremes.outermost(e) is None:
        return None
    for side in (e, -e):
        proof = extremes.prove_nonnegative(known, side)
        if proof is not None:
            return strengthen(proof, apart)
    return None


def factors_apart(proof: ProofStep) -> list[ProofStep]:
    """`p != 0` and `q != 0` from `p*p*q != 0`, or from `p*p*q >= 1`, for sums p and q."""
    e = proof.conclusion.expr
    whole = e - e.constant
    positive = proof.conclusion.kind == "ge"
    if e.degree < 2 or len(e.terms) < 2 or (e.constant >= 0 if positive else e.constant != 0):
        return []
    found = []
    factors = factors_of(whole)
    if len(factors) > 1 or factors[0][1] > 1:
        for factor, _ in factors:
            zero = Prop.zero(factor)
            rest = exact_quotient(whole, zero.expr) if zero.kind == "eq" else None
            if rest is None:
                continue
            product = multiply_equality(hypothesis(zero), rest)
            if positive:
                size = whole.content() if product.conclusion.expr.lead()[1] * whole.lead()[1] > 0 else -whole.content()
                false = combine([proof, product], [1, -size])
            else:
                false = ProofStep("clash", Prop.truth(e.interner, False), (product, proof))
            if false.conclusion.kind == "false":
                found.append(refute(false, zero.negation))
    return found
