"""Atoms that the facts settle: a division with one possible quotient or an exact one, a relu of known sign, a
conditional whose condition is decided.

>>> from solver.terms.interner import Interner
>>> from solver.knowledge.facts import Facts
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> known = Facts.empty(terms).declare_range(s, 8, 15)
>>> known.canonical(s // 8)[0] is terms.one
True
"""

from __future__ import annotations

from solver.knowledge.explain import prove_bound, prove_side
from solver.knowledge.isolation import isolations
from solver.knowledge.knowledge import Knowledge, Rule
from solver.proofs.rewriting import apply_round, apply_round_to_prop
from solver.proofs.step import Reason, apart, equal, every, some
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides
from solver.terms.prop import SHARING, Prop


def settled_rule(known: Knowledge, atom: Atom) -> Rule | None:
    """What the atom equals under the facts, if interval arithmetic shows it."""
    zero = known.interner.zero
    match atom.kind, atom.args:
        case "relu", (Expr() as e,):
            low = known.low(e)
            if low is not None and low >= 0:
                premise = prove_side(known, e, True, 0)
                return Rule(e, Reason("axiom", Prop.zero(atom.expr - e), (premise,), (atom, "positive")))
            high = known.high(e)
            if high is not None and high <= 0:
                premise = prove_side(known, e, False, 0)
                return Rule(zero, Reason("axiom", Prop.zero(atom.expr), (premise,), (atom, "negative")))
            return _settled_by_sign(known, atom, e)
        case "ite", (Prop() as p, Expr() as e):
            decided = prove_by_intervals(known, p)
            if decided is not None:
                return Rule(e, Reason("axiom", Prop.zero(atom.expr - e), (decided,), (atom, "positive")))
            decided = prove_by_intervals(known, p.negation)
            if decided is not None:
                return Rule(zero, Reason("axiom", Prop.zero(atom.expr), (decided,), (atom, "negative")))
            return None
        case _:
            r = known.range_of(atom.monomial)
            if r.lo is None or r.lo != r.hi:
                if atom.kind == "floordiv" and known.product_rules:
                    return _exact_quotient(known, atom)
                return _exact(known, atom) if atom.kind == "function" else None
            value = r.lo
            above = prove_bound(known, atom.monomial, True, value)
            below = prove_bound(known, atom.monomial, False, value)
            return Rule(known.interner.constant(value), equal(above, below))


def _exact(known: Knowledge, atom: Atom) -> Rule | None:
    """A rounding of doubles that are small enough to be exact is integer arithmetic."""
    from solver.floats.exact import exact_form

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
    return Rule(form, Reason("axiom", Prop.zero(atom.expr - form), tuple(premises), (atom, "exact")))


def _exact_quotient(known: Knowledge, atom: Atom) -> Rule | None:
    """`a*b // c` is x if `a*b == c*x` is known; products are written as `a*b`, so that no factor c shows."""
    from solver.knowledge.laws import rewritten

    interner = known.interner
    numerator = atom.args[0]
    assert isinstance(numerator, Expr)
    products = [atoms for m, _ in numerator.terms if len(atoms := interner.monomials[m]) > 1]
    for product, rule in known.product_rules if products else ():
        if len(rule.image.terms) != 1 or rule.image.constant:
            continue
        ((m, c),) = rule.image.terms
        if abs(c) == 1 and any(divides(interner.monomials[m], atoms) for atoms in products):
            step = (m, interner.expr(((product, c),), 0), rule.reason)
            value = apply_round(atom.expr, (step,))
            if value.depth < atom.depth:
                goal = Prop.zero(atom.expr - value)
                if apply_round_to_prop(goal, (step,)).kind == "true":
                    return Rule(value, rewritten(goal, None, ((step,),)))
    return None


def _settled_by_sign(known: Knowledge, atom: Atom, e: Expr) -> Rule | None:
    """A relu of an expression whose sign shows by shifting its atoms to their bounds, or by isolating a division."""
    positive = prove_sign(known, e, atom)
    if positive is not None:
        return Rule(e, Reason("axiom", Prop.zero(atom.expr - e), (positive,), (atom, "positive")))
    negative = prove_sign(known, -e, atom)
    if negative is not None:
        return Rule(known.interner.zero, Reason("axiom", Prop.zero(atom.expr), (negative,), (atom, "negative")))
    return None


def prove_sign(known: Knowledge, e: Expr, without: Atom | None = None) -> Reason | None:
    """`e >= 0`, cheaply, and not by a fact about the clamp `without` that it settles."""
    from solver.rungs import extremes, remainder, shift, single

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
            return isolated.reason(known, goal, proof)
    return remainder.prove_nonnegative(known, goal.expr) or extremes.prove_nonnegative(known, goal.expr)


def prove_by_intervals(known: Knowledge, p: Prop) -> Reason | None:
    """The proposition, if bounds and excluded values show it."""
    match p.kind:
        case "true":
            return Reason("trivial", p)
        case "ge":
            low = known.low(p.expr)
            return prove_side(known, p.expr, True, 0) if low is not None and low >= 0 else None
        case "eq":
            low, high = known.low(p.expr), known.high(p.expr)
            if low == 0 == high:
                return equal(prove_side(known, p.expr, True, 0), prove_side(known, p.expr, False, 0))
            return None
        case "ne":
            return prove_nonzero(known, p)
        case "and" | "or" if p.written > SHARING:
            return _prove_shared(known, p)
        case "and":
            reasons = []
            for part in p.parts:
                reason = prove_by_intervals(known, part)
                if reason is None:
                    return None
                reasons.append(reason)
            return every(p, reasons)
        case "or":
            for part in p.parts:
                reason = prove_by_intervals(known, part)
                if reason is not None:
                    return some(p, reason)
            return None
        case _:
            return None


def _prove_shared(known: Knowledge, p: Prop) -> Reason | None:
    """A compound whose nodes occur many times in it: each is tried once."""
    proofs: dict[Prop, Reason | None] = {}
    for node in p.nodes:
        if not node.parts:
            proofs[node] = prove_by_intervals(known, node)
            continue
        found = [proof for proof in [proofs[part] for part in node.parts] if proof is not None]
        if node.kind == "and":
            proofs[node] = every(node, found) if len(found) == len(node.parts) else None
        else:
            proofs[node] = some(node, found[0]) if found else None
    return proofs[p]


def prove_between_multiples(known: Knowledge, p: Prop) -> Reason | None:
    """`a*rest + c != 0`, if c is not zero and smaller than a: no multiple of a is that close to zero and not zero."""
    e = p.expr
    size = abs(e.constant)
    monomials = known.interner.monomials
    first, *others = [monomials[m] for m, _ in e.terms]
    if not others and len(first) == 1:
        return None
    for atom in first:
        r = known.range_of(atom.monomial)
        if r.lo is not None and r.lo > size and all(atom in atoms for atoms in others):
            return Reason("multiple", p, (prove_bound(known, atom.monomial, True, size + 1),), atom)
    return None


def bounded_away(known: Knowledge, e: Expr) -> bool:
    """Whether `e != 0` shows by bounds alone, for those who need no proof of it."""
    low = known.low(e)
    if low is not None and low > 0:
        return True
    high = known.high(e)
    return high is not None and high < 0


def prove_nonzero(known: Knowledge, p: Prop) -> Reason | None:
    """`e != 0`, if e is bounded away from zero, zero is excluded, or its factors are nonzero."""
    e = p.expr
    if e.constant and e.terms:
        between = prove_between_multiples(known, p)
        if between is not None:
            return between
    low = known.low(e)
    if low is not None and low > 0:
        return apart(prove_side(known, e, True, 1), p)
    high = known.high(e)
    if high is not None and high < 0:
        return apart(prove_side(known, e, False, -1), p)
    if known.excluded.count:
        values, k = known.excluded_values(e)
        if values is not None and e.constant % k == 0:
            reason = values.get(-e.constant // k)
            if reason is not None:
                return reason
        if any(c > 1 or c < -1 for _, c in e.terms):
            from solver.knowledge.multiples import prove_no_multiple

            multiple = prove_no_multiple(known, p)
            if multiple is not None:
                return multiple
    if len(e.terms) == 1 and not e.constant and len(known.interner.monomials[e.terms[0][0]]) > 1:
        factors = []
        for atom in dict.fromkeys(known.interner.monomials[e.terms[0][0]]):
            factor = prove_nonzero(known, Prop.zero(atom.expr).negation)
            if factor is None:
                return None
            factors.append(factor)
        return Reason("product-nonzero", p, tuple(factors))
    return None
