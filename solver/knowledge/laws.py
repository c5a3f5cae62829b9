"""Axioms of operations, and the steps that use them: laws of floor division and relu, definitions, substitution.

>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> from solver.knowledge.laws import laws_of
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> [str(law.conclusion) for law in laws_of(Facts.empty(terms), (s // 4).atom)]
['s % 4 >= 0', 's % 4 <= 3']
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_nonnegative
from solver.proofs.rewriting import Round, apply_round_to_prop
from solver.proofs.step import ProofStep, combine, times
from solver.terms.atoms import conclusion_of, conditions_of, expression_of
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr
from solver.terms.operations import Law
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
    """`n - d*q` or `d*q + d - 1 - n`: nonnegative for q = n // d and d >= 1.

    With n and d negated for d <= -1.
    """
    return expression_of(_floordiv_row(atom, lower, negative).conclusion, atom)


def floordiv_law(known: Knowledge, atom: Atom, lower: bool, *, negative: bool = False) -> ProofStep:
    """The law behind a lower (or upper) bound of a quotient, for a divisor of known sign."""
    law = _floordiv_row(atom, lower, negative)
    return _applied(known, law, atom, conditions_of(law, atom))


def _floordiv_row(atom: Atom, lower: bool, negative: bool) -> Law:
    below, above, below_negative, above_negative = atom.operation.laws
    if negative:
        return below_negative if lower else above_negative
    return below if lower else above


def _applied(known: Knowledge, law: Law, atom: Atom, premises: list[Expr]) -> ProofStep:
    """A law whose first premise is known."""
    given = [prove_nonnegative(known, e) for e in premises[:1] if e.terms]
    return ProofStep("axiom", conclusion_of(law, atom), tuple(given), (atom, law.name))


def laws_of(known: Knowledge, atom: Atom) -> list[ProofStep]:
    """The defining inequalities of a composite atom."""
    found = []
    for law in atom.operation.laws:
        look()
        premises = conditions_of(law, atom)
        shown = [e for e in premises if (low := known.low(e)) is not None and low >= 0]
        if shown or not premises:
            found.append(_applied(known, law, atom, shown))
    return found


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
