"""Atoms whose value the facts decide: a division with one possible quotient or an exact one, a relu of known sign, a
conditional with a decided condition.

>>> from solver.terms.interner import Interner
>>> from solver.knowledge.facts import Facts
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> known = Facts.empty(terms).declare_range(s, 8, 15)
>>> known.canonical(s // 8)[0] is terms.one
True
"""

from __future__ import annotations

from solver.floats.exact import exact_form
from solver.knowledge import extremes, remainder, shift, single
from solver.knowledge.base import Knowledge
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.entries import Rule
from solver.knowledge.explain import prove_bound, prove_side
from solver.knowledge.isolation import TERMS, isolations
from solver.knowledge.laws import rewritten
from solver.proofs.rewriting import apply_round, apply_round_to_prop
from solver.proofs.step import ProofStep, equal
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides
from solver.terms.prop import Prop


class Deciding(Knowledge):
    """Knowledge that decides operations by the facts about their arguments."""

    __slots__ = ()

    def decided_rule(self, atom: Atom) -> Rule | None:
        return _decided_rule(self, atom)

    def prove_sign(self, e: Expr, without: Atom | None = None) -> ProofStep | None:
        return _prove_sign(self, e, without)


def _decided_rule(known: Knowledge, atom: Atom) -> Rule | None:
    """The value of an atom, if interval arithmetic determines it."""
    zero = known.interner.zero
    match atom.kind, atom.args:
        case "relu", (Expr() as e,):
            low = known.low(e)
            if low is not None and low >= 0:
                premise = prove_side(known, e, True, 0)
                return Rule(e, ProofStep("axiom", Prop.zero(atom.expr - e), (premise,), (atom, "positive")))
            high = known.high(e)
            if high is not None and high <= 0:
                premise = prove_side(known, e, False, 0)
                return Rule(zero, ProofStep("axiom", Prop.zero(atom.expr), (premise,), (atom, "negative")))
            return _decided_by_sign(known, atom, e)
        case "ite", (Prop() as p, Expr() as e):
            decided = prove_by_intervals(known, p)
            if decided is not None:
                return Rule(e, ProofStep("axiom", Prop.zero(atom.expr - e), (decided,), (atom, "positive")))
            decided = prove_by_intervals(known, p.negation)
            if decided is not None:
                return Rule(zero, ProofStep("axiom", Prop.zero(atom.expr), (decided,), (atom, "negative")))
            return None
        case _:
            r = known.range_of(atom.monomial)
            if r.lo is None or r.lo != r.hi:
                if atom.kind == "floordiv":
                    exact = _exact_quotient(known, atom) if known.product_rules else None
                    return exact or (_zero_quotient(known, atom) if r.lo == 0 else None)
                return _exact(known, atom) if atom.kind == "function" else None
            value = r.lo
            above = prove_bound(known, atom.monomial, True, value)
            below = prove_bound(known, atom.monomial, False, value)
            return Rule(known.interner.constant(value), equal(above, below))


def _exact(known: Knowledge, atom: Atom) -> Rule | None:
    """Rounding of a double that is small enough to be exact is integer arithmetic."""
    found = exact_form(atom)
    if found is None:
        return None
    form, limits = found
    premises = []
    for limit in limits:
        premise = prove_by_intervals(known, limit)
        if premise is None:
            return None
        premises.append(premise)
    return Rule(form, ProofStep("axiom", Prop.zero(atom.expr - form), tuple(premises), (atom, "exact")))


def _exact_quotient(known: Knowledge, atom: Atom) -> Rule | None:
    """`a*b // c` is x if `a*b == c*x` is known; products are written as `a*b`, so that no factor c shows."""
    interner = known.interner
    numerator = atom.args[0]
    assert isinstance(numerator, Expr)
    products = [atoms for m, _ in numerator.terms if len(atoms := interner.monomials[m]) > 1]
    for product, rule in known.product_rules if products else ():
        if len(rule.image.terms) != 1 or rule.image.constant:
            continue
        ((m, c),) = rule.image.terms
        if abs(c) == 1 and any(divides(interner.monomials[m], atoms) for atoms in products):
            step = (m, interner.expr(((product, c),), 0), rule.proof)
            value = apply_round(atom.expr, (step,))
            if value.depth < atom.depth:
                goal = Prop.zero(atom.expr - value)
                if apply_round_to_prop(goal, (step,)).kind == "true":
                    return Rule(value, rewritten(goal, None, ((step,),)))
    return None


def _zero_quotient(known: Knowledge, atom: Atom) -> Rule | None:
    """`n//d` is 0 where `0 <= n < d`: the sign of `d - 1 - n`, where that has products, by shifting its atoms."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    low, least = known.low(n), None if d.is_constant else known.low(d)
    if low is None or low < 0 or least is None or least < 1:
        return None
    spare = d - 1 - n
    order = shift.prove_nonnegative(known, spare) if 1 < spare.degree and len(spare.terms) <= TERMS else None
    if order is None:
        return None
    positive, zero = prove_side(known, d, True, 1), known.interner.zero
    below = ProofStep("isolate", Prop.nonnegative(-atom.expr), (order, positive), (atom, zero, -1))
    return Rule(zero, equal(prove_bound(known, atom.monomial, True, 0), below))


def _decided_by_sign(known: Knowledge, atom: Atom, e: Expr) -> Rule | None:
    """A relu whose argument has a sign by shifting its atoms to their bounds, or by isolating a division."""
    positive = _prove_sign(known, e, atom)
    if positive is not None:
        return Rule(e, ProofStep("axiom", Prop.zero(atom.expr - e), (positive,), (atom, "positive")))
    negative = _prove_sign(known, -e, atom)
    if negative is not None:
        return Rule(known.interner.zero, ProofStep("axiom", Prop.zero(atom.expr), (negative,), (atom, "negative")))
    return None


def _prove_sign(known: Knowledge, e: Expr, without: Atom | None = None) -> ProofStep | None:
    """`e >= 0`, cheaply, and without facts about the clamp `without` that it decides."""
    if len(e.terms) > TERMS:
        return None
    goal = Prop.nonnegative(e)
    if goal.kind != "ge" or known.refuted(goal.expr):
        return None
    if e.degree > 1:
        shifted = shift.prove_nonnegative(known, goal.expr)
        if shifted is not None:
            return shifted
    alone = single.prove_nonnegative(known, goal.expr, without)
    if alone is not None:
        return alone
    for isolated in isolations(known, goal.expr):
        about = isolated.goal()
        proof = prove_by_intervals(known, about)
        if proof is None and about.kind == "ge":
            proof = single.prove_nonnegative(known, about.expr, without)
        if proof is not None:
            return isolated.proof(known, goal, proof)
    return remainder.prove_nonnegative(known, goal.expr) or extremes.prove_nonnegative(known, goal.expr)
