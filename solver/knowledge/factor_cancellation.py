"""Cancel factors of known sign: an equivalent comparison without them.

>>> from solver.knowledge.factor_cancellation import without_factors
>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> terms = Interner()
>>> a, b, c = (terms.symbol(name) for name in "abc")
>>> known = Facts.empty(terms).declare_range(a, 1, None)
>>> without_factors(known, terms.ge(a * b, a * c)).goal is terms.ge(b, c)
True
"""

from __future__ import annotations

from dataclasses import dataclass

from solver.knowledge import single
from solver.knowledge.base import Knowledge
from solver.knowledge.by_intervals import prove_nonzero
from solver.knowledge.explain import prove_bound
from solver.proofs.step import ProofStep, apart
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms


@dataclass(frozen=True, slots=True)
class Smaller:
    """A comparison divided by a factor of known sign: it holds if and only if `goal` does."""

    prop: Prop
    goal: Prop
    factor: Expr
    rest: Expr
    proofs: tuple[ProofStep, ...]


def without_factors(known: Knowledge, p: Prop) -> Smaller | None:
    """The comparison without the atoms that all its monomials share and that are known positive (ge) or nonzero (eq,
    ne).
    """
    e = p.expr
    if e.constant or not e.terms:
        return None
    whole = len(known.interner.monomials[e.terms[0][0]]) if len(e.terms) == 1 else 0
    if whole == 1:
        return None
    common = common_atoms(known.interner, e)
    chosen: list[Atom] = []
    proofs = []
    for atom in sorted(set(common), key=lambda atom: atom.key) if common else ():
        count = common.count(atom)
        if whole and len(chosen) + count >= whole:
            continue
        low = known.range_of(atom.monomial).lo
        if low is not None and low >= 1:
            proof: ProofStep | None = prove_bound(known, atom.monomial, True, 1)
        else:
            proof = prove_nonzero(known, Prop.zero(atom.expr).negation) if p.kind != "ge" else None
            if proof is None and atom.kind == "floordiv":
                one = single.prove_positive(known, atom.expr)
                proof = one if one is None or p.kind == "ge" else apart(one, Prop.zero(atom.expr).negation)
        if proof is not None:
            chosen += [atom] * count
            proofs.append(proof)
    if not chosen:
        return None
    interner = known.interner
    divisor = tuple(sorted(chosen, key=lambda atom: atom.serial))
    factor = interner.expr(((interner.monomial(divisor), 1),), 0)
    rest = divide_atoms(interner, e, divisor)
    return Smaller(p, p.of(rest), factor, rest, tuple(proofs))


def factored(smaller: Smaller, goal: Prop, premise: ProofStep) -> ProofStep:
    """From the comparison (or its negation) to the divided one (or its negation), or back: goal and premise say which.
    """
    kind = "ge" if smaller.prop.kind == "ge" else "eq"
    return ProofStep("factored", goal, (premise, *smaller.proofs), (smaller.factor, smaller.rest, kind))
