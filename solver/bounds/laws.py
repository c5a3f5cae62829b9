"""Axioms of operations, and the steps that use them: laws of floor division and relu, definitions, substitution.

>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> from solver.bounds.laws import laws_of
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> [str(law.conclusion) for law in laws_of(Facts.empty(terms), (s // 4).atom)]
['s % 4 >= 0', 's % 4 <= 3']
"""

from __future__ import annotations

from typing import Final

from solver.bounds.explain import prove_nonnegative, prove_side
from solver.bounds.knowledge import Knowledge
from solver.proofs.rewriting import Round, apply_round_to_prop
from solver.proofs.step import ProofStep, combine, times
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

UNFOLDED: Final = 8
UNFOLDED_TERMS: Final = 64
"""Expressions with more terms are not unfolded further: nested images multiply."""


def definition_of(e: Expr, name: Expr) -> ProofStep:
    """`name == e`, by definition of the name."""
    return ProofStep("definition", Prop.zero(name - e), (), (e, name))


def rewritten(goal: Prop, premise: ProofStep | None, rounds: tuple[Round, ...]) -> ProofStep:
    """A statement with equalities substituted; the rounds lead from the premise to the goal or back."""
    statement = () if premise is None else (premise,)
    equalities = tuple(proof for steps in rounds for _, _, proof in steps)
    shape = tuple(tuple((m, image) for m, image, _ in steps) for steps in rounds)
    return ProofStep("rewrite", goal, statement + equalities, shape)


def law_expr(atom: Atom, lower: bool, *, negative: bool = False) -> Expr:
    """`n - d*q` or `d*q + d - 1 - n`: nonnegative for q = n // d and d >= 1. With n and d negated for d <= -1."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    if negative:
        n, d = -n, -d
    return n - d * atom.expr if lower else d * atom.expr + d - 1 - n


def floordiv_law(known: Knowledge, atom: Atom, lower: bool, *, negative: bool = False) -> ProofStep:
    """The law behind a lower (or upper) bound of a quotient, for a divisor of known sign."""
    d = atom.args[1]
    assert isinstance(d, Expr)
    if negative:
        statement = Prop.nonnegative(law_expr(atom, lower, negative=True))
        why = prove_side(known, d, False, -1)
        return ProofStep("axiom", statement, (why,), (atom, "below negative" if lower else "above negative"))
    premises = () if d.is_constant else (prove_side(known, d, True, 1),)
    return ProofStep("axiom", Prop.nonnegative(law_expr(atom, lower)), premises, (atom, "below" if lower else "above"))


def laws_of(known: Knowledge, atom: Atom) -> list[ProofStep]:
    """The defining inequalities of a composite atom."""
    match atom.kind, atom.args:
        case "floordiv", (_, Expr() as d):
            low = d.constant if d.is_constant else known.low(d)
            if low is not None and low >= 1:
                return [floordiv_law(known, atom, lower) for lower in (True, False)]
            high = known.high(d)
            if high is None or high > -1:
                return []
            return [floordiv_law(known, atom, lower, negative=True) for lower in (True, False)]
        case "relu", (Expr() as e,):
            above = ProofStep("axiom", Prop.nonnegative(atom.expr - e), (), (atom, "above argument"))
            return [ProofStep("axiom", Prop.nonnegative(atom.expr), (), (atom, "above zero")), above]
        case "bitand", (Expr() as a, Expr() as b):
            return [
                law
                for law in (_mask_law(known, atom, a, b, "first"), _mask_law(known, atom, b, a, "second"))
                if law is not None
            ]
        case _:
            return []


def _mask_law(known: Knowledge, atom: Atom, masked: Expr, mask: Expr, which: str) -> ProofStep | None:
    """`a & b <= a` for a nonnegative (masking only clears bits), or b negative (it keeps the sign of a)."""
    low, high = known.low(masked), known.high(mask)
    if low is not None and low >= 0:
        premise = prove_side(known, masked, True, 0)
    elif high is not None and high < 0:
        premise = prove_side(known, mask, False, -1)
    else:
        return None
    return ProofStep("axiom", Prop.nonnegative(masked - atom.expr), (premise,), (atom, f"at most {which}"))


def size_of(e: Expr) -> int:
    """The factor between the expression and its normalized inequality."""
    return max(1, e.content())


def times_nonnegative(known: Knowledge, proof: ProofStep, factor: Expr) -> ProofStep | None:
    """`factor * p >= 0` from `p >= 0`, for a nonnegative factor."""
    low = known.low(factor)
    if low is None or low < 0:
        return None
    positive = prove_nonnegative(known, factor)
    scaled = times(positive, proof)
    k = size_of(factor)
    rest = factor.constant - k * positive.conclusion.expr.constant
    if k == 1:
        return scaled
    # `4*x + 3 >= 0` is `x >= 0`: content and rounding come back as multiples
    size = size_of(positive.conclusion.expr * proof.conclusion.expr)
    return combine([scaled, proof], [k * size, rest]) if rest else combine([scaled], [1])


def unfold(known: Knowledge, proof: ProofStep) -> ProofStep | None:
    """Rewrite an equality after the facts have decided an operation in it (a known quotient, say)."""
    p = proof.conclusion
    rounds: list[Round] = []
    decided = False
    for _ in range(UNFOLDED):
        steps = []
        for atom in sorted(p.atoms, key=lambda atom: atom.serial):
            rule = known.decided_rule(atom) if atom.args else known.solved.get(atom.monomial)
            if rule is not None:
                steps.append((atom.monomial, rule.image, rule.proof))
                decided = decided or bool(atom.args)
        if not steps:
            break
        new = apply_round_to_prop(p, tuple(steps))
        if new is p or len(new.terms) > UNFOLDED_TERMS:
            break
        rounds.append(tuple(steps))
        p = new
    return rewritten(p, proof, tuple(rounds)) if decided and p.kind != "true" else None
