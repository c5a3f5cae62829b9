"""Case analysis of min, max and abs, one `relu(X) = max(X, 0)` after the other.

`G - c*relu(X) >= 0`, c > 0, holds if and only if `G >= 0` and `G - c*X >= 0`: as many goals as the max has arguments.
`G + c*relu(X) >= 0` holds if one of `G >= 0`, `G + c*X >= 0` does.

    >>> from solver.knowledge.extremes import prove_nonnegative
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> known = Facts.empty(terms).declare_range(a, 0, 9).declare_range(b, 0, 9)
    >>> print(prove_nonnegative(known, 9 - terms.maximum(a, b)).conclusion)
    max(a, b) <= 9
"""

from __future__ import annotations

from threading import local
from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.laws import rewritten, size_of
from solver.proofs.rewriting import apply_round_to_prop
from solver.proofs.step import ProofStep, axiom, cases, combine, hypothesis
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

FEW: Final = 10
"""Goals for which the sign of an argument is examined on the fly."""
TERMS: Final = 8
NESTED: Final = 2
"""Recursion depth: splitting one goal makes others canonical, which examines the signs of their clamps, and so splits
goals, each of which may introduce new clamps."""

_nesting: Final = local()


def prove_nonnegative(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` for an expression with a few relus, cheaply."""
    return None if len(e.terms) > TERMS else prove_clamps(known, e)


def prove_clamps(known: Knowledge, e: Expr) -> ProofStep | None:
    """`e >= 0` for an expression with relus, few of which matter.

    Clamps of clamps are long sums in normal form, most of which one relu cancels when it is replaced by its argument.
    """
    if outermost(e) is None:
        return None
    depth: int = getattr(_nesting, "depth", 0)
    if depth >= NESTED:
        return None
    _nesting.depth = depth + 1
    try:
        return ClampSplit(known, FEW).prove(Prop.nonnegative(e))
    finally:
        _nesting.depth = depth


class ClampSplit:
    """The state of splitting one question."""

    __slots__ = ("both", "facts", "goals")

    def __init__(self, facts: Knowledge, goals: int, *, both: bool = False) -> None:
        self.facts = facts
        self.goals = goals
        self.both = both  # whether lower bounds of a relu are tried that lead to nothing bounded

    def prove(self, goal: Prop) -> ProofStep | None:
        look()
        canonical, rounds = self.facts.canonical_prop(goal)
        proof = prove_by_intervals(self.facts, canonical)
        if proof is None:
            self.goals -= 1
            proof = self.prove_open(canonical) if self.goals > 0 else None
        if proof is None or not rounds:
            return proof
        return rewritten(goal, proof if canonical.kind != "true" else None, rounds)

    def prove_open(self, goal: Prop) -> ProofStep | None:
        """A canonical goal that bounds leave open."""
        if goal.kind != "ge" or self.facts.refuted(goal.expr):
            return None
        found = outermost(goal.expr)
        if found is None:
            return self.prove_unclamped(goal)
        atom, c = found
        return self.below(goal, atom) if c < 0 else self.above(goal, atom, c)

    def prove_unclamped(self, goal: Prop) -> ProofStep | None:
        """An inequality without clamps to split on."""
        return self.facts.prove_sign(goal.expr)

    def below(self, goal: Prop, atom: Atom) -> ProofStep | None:
        """Both cases of a subtracted relu."""
        (argument,) = atom.args
        assert isinstance(argument, Expr)
        positive = Prop.nonnegative(argument)
        branches = []
        for case, image in ((positive, argument), (positive.negation, goal.interner.zero)):
            value = value_under(case, atom, argument, image)
            steps = ((atom.monomial, image, value),)
            smaller = apply_round_to_prop(goal, steps)
            proof = ProofStep("trivial", smaller) if smaller.kind == "true" else self.prove(smaller)
            if proof is None:
                return None
            branches.append(rewritten(goal, proof if smaller.kind != "true" else None, (steps,)))
        return cases(goal, positive, branches)

    def above(self, goal: Prop, atom: Atom, c: int) -> ProofStep | None:
        """One of the two lower bounds of a relu."""
        (argument,) = atom.args
        assert isinstance(argument, Expr)
        rest = goal.expr - c * atom.expr
        sides = [
            (rest + c * argument, axiom(Prop.nonnegative(atom.expr - argument), (atom, "above argument"))),
            (rest, axiom(Prop.nonnegative(atom.expr), (atom, "above zero"))),
        ]
        known = [
            side for side in sides if not side[0].terms or self.facts.low(self.facts.canonical(side[0])[0]) is not None
        ]
        for e, law in known or (sides if self.both else sides[1:]):
            smaller = Prop.nonnegative(e)
            if smaller.kind == "false":
                continue
            if smaller.kind == "true":
                return combine([law], [c], e.constant)
            proof = self.prove(smaller)
            if proof is not None:
                size = size_of(e)
                return combine([proof, law], [size, c], e.constant - size * smaller.expr.constant)
        return None


def outermost(e: Expr) -> tuple[Atom, int] | None:
    """A relu with its coefficient that is a term by itself: a subtracted one if possible (which lower bound to use for
    the others may depend on the case), and the one with the largest argument.
    """
    monomials = e.interner.monomials
    found: list[tuple[bool, int, tuple[int, ...], Atom, int]] = []
    others: dict[Atom, None] = {}
    for m, c in e.terms:
        atom = monomials[m][0]
        if len(monomials[m]) == 1 and atom.kind == "relu":
            found.append((c < 0, atom.depth, atom.key, atom, c))
        others.update(dict.fromkeys(monomials[m]))
    found.sort(key=lambda each: each[:3], reverse=True)
    deepest = sorted(others, key=lambda other: -other.depth) if len(found) > 1 else []
    for _, depth, _, atom, c in found:
        if not any(atom in other.expr.atoms for other in deepest if other.depth > depth):
            return atom, c
    return None


def value_under(case: Prop, atom: Atom, argument: Expr, image: Expr) -> ProofStep:
    """The value of a relu under the hypothesis of its sign."""
    supposed = hypothesis(case)
    if image is argument:
        return axiom(Prop.zero(atom.expr - argument), (atom, "positive"), [supposed])
    below = Prop.nonnegative(-argument)
    if below is not case:
        size = size_of(argument)
        supposed = combine([supposed], [size], -argument.constant - size * case.expr.constant)
    return axiom(Prop.zero(atom.expr), (atom, "negative"), [supposed])
