"""Case splits on clamps in products and quotients, and at sign changes of univariate inequations.

`relu(X)` is X where `X >= 0` and 0 elsewhere. Expanded products of clamps are sums of many terms; within a case they
are products again, whose factors the other rungs see:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> s, t = terms.symbol("s"), terms.symbol("t")
    >>> known = Facts.empty(terms).declare_range(s, 2, None).declare_range(t, 2, None)
    >>> smaller = terms.minimum(s, t) * terms.maximum(terms.maximum(s, t) // 4, 1)
    >>> decide(known, terms.lt(smaller, s * t)).rung
    'split'

A univariate inequation is split where its sign changes: `x*x//2 != 1` is below for `x <= 1` and above for
`x >= 2`. And `e >= 1` is `e >= 0` where the facts exclude `e == 0`.

The rungs without search prove each case as a goal of its own; the splits of one question share a small budget beside
the prover's.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.laws import rewritten
from solver.proofs.step import ProofStep, apart, cases, refute
from solver.rungs.prover import Prover
from solver.terms.expr import Atom, Expr, evaluate_atoms
from solver.terms.prop import Prop

DEEP: Final = 1
LEVELS: Final = 3
"""Depth of nested splits."""
WORK: Final = {"fast": 0, "default": 40_000, "thorough": 80_000}
"""The work budget of all cases of one question, in units of the linear solver's work."""
SPLITS: Final = 8
"""Number of splits for one question."""
INSIDE: Final = frozenset(("bounds", "shift", "remainder", "extremes", "factor", "linear", "isolate"))
"""The rungs that prove a case."""
FARTHEST: Final = 72
"""Size, in bits, of the numbers among which a sign change is looked for."""
TERMS: Final = 24


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """The goal by cases of its clamps, or on both sides of a change of sign."""
    if depth or goal.kind not in ("ge", "ne") or len(goal.expr.terms) > TERMS:
        return None
    turning = _turning_point(facts, goal) if goal.kind == "ne" else None
    if turning is None and _clamp(goal) is None:
        return None
    rungs, work, forks = prover.rungs, prover.work, prover.forks
    prover.rungs = rungs & INSIDE
    prover.work = allowed = min(work, WORK[prover.effort])
    try:
        if turning is not None:
            return _on_both_sides(prover, facts, goal, turning)
        return _Splits(prover).prove(facts, goal, 0)
    finally:
        prover.spent += allowed - prover.work
        prover.rungs, prover.work, prover.forks = rungs, work, forks


def without_value(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """`e >= 1` from `e >= 0`, where the facts exclude `e == 0`."""
    if depth > DEEP or goal.kind != "ge" or not facts.excluded.count:
        return None
    weaker = goal.expr + 1
    left_out, k = facts.excluded_values(weaker)
    if left_out is None or not weaker.terms or weaker.constant % k or -weaker.constant // k not in left_out:
        return None
    rungs = prover.rungs
    prover.rungs = rungs & INSIDE
    try:
        proof = prover.prove(facts, Prop.nonnegative(weaker), depth + 1)
    finally:
        prover.rungs = rungs
    why = left_out[-weaker.constant // k]
    if proof is None or why.conclusion.expr is not proof.conclusion.expr:
        return None
    return ProofStep("strengthen", goal, (proof, why))


class _Splits:
    """The splits of one question, and the number left."""

    __slots__ = ("left", "prover")

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.left = SPLITS

    def prove(self, facts: Facts, goal: Prop, level: int) -> ProofStep | None:
        """A goal that the other rungs leave open."""
        atom = _clamp(goal) if level < LEVELS else None
        if atom is None or not self.left:
            return None
        self.left -= 1
        (argument,) = atom.args
        assert isinstance(argument, Expr)
        positive = Prop.nonnegative(argument)
        branches = []
        for case in (positive, positive.negation):
            proof = self.case(facts, goal, case, level)
            if proof is None:
                return None
            branches.append(proof)
        return cases(goal, positive, branches)

    def case(self, facts: Facts, goal: Prop, case: Prop, level: int) -> ProofStep | None:
        inside = self.prover.suppose(facts, case)
        if inside is None:
            return None
        if isinstance(inside, Conflict):
            return refute(inside.proof, goal)
        smaller, rounds = inside.canonical_prop(goal)
        if smaller.kind == "ge" and inside.refuted(smaller.expr):
            return None
        proof = self.prover.prove_canonical(inside, smaller, 1)
        if proof is None and smaller.kind == "ne":
            turning = _turning_point(inside, smaller)
            if turning is not None:
                proof = _on_both_sides(self.prover, inside, smaller, turning)
        if proof is None and smaller.kind in ("ge", "ne"):
            proof = self.prove(inside, smaller, level + 1)
        if proof is None or smaller is goal:
            return proof
        return rewritten(goal, proof if smaller.kind != "true" else None, rounds)


def _clamp(goal: Prop) -> Atom | None:
    """A clamp to split on: an innermost one that is no term by itself, as its argument recurs inside others."""
    found: Atom | None = None
    monomials = goal.interner.monomials
    alone = {monomials[m][0] for m, _ in goal.expr.terms if len(monomials[m]) == 1}
    inside = {atom for atom in alone if atom.kind == "relu"}
    for atom in goal.schedule:
        if atom.kind != "relu" or (atom in inside and not _elsewhere(goal, atom)):
            continue
        if found is None or (atom.depth, atom.key) < (found.depth, found.key):
            found = atom
    return found


def _elsewhere(goal: Prop, clamp: Atom) -> bool:
    """Return True if a clamp also occurs in a product, or in another operation."""
    monomials = goal.interner.monomials
    for m, _ in goal.expr.terms:
        atoms = monomials[m]
        if len(atoms) > 1 and clamp in atoms:
            return True
    return any(clamp in atom.expr.atoms for atom in goal.schedule if atom is not clamp and atom.depth > clamp.depth)


# ---------------------------------------------------------------------- changes of sign


def _turning_point(facts: Facts, goal: Prop) -> tuple[Atom, int, int] | None:
    """For a univariate inequation, the last number on the side of its lower bound with the bound's sign, and that sign.
    There may be others: both sides are proven.
    """
    symbols = goal.symbols
    if len(symbols) != 1 or goal.expr.degree == 1 and not goal.expr.depth:
        return None
    (symbol,) = symbols
    r = facts.range_of(symbol.monomial)
    if r.lo is None:
        return None
    try:
        first = _value(goal, symbol, r.lo)
        if not first:
            return None
        sign = 1 if first > 0 else -1
        low, step = r.lo, 1
        while _value(goal, symbol, low + step) * sign > 0:
            low, step = low + step, 2 * step
            if step.bit_length() > FARTHEST or (r.hi is not None and low >= r.hi):
                return None
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if _value(goal, symbol, middle) * sign > 0:
                low = middle
            else:
                high = middle
        return (symbol, low, sign) if _value(goal, symbol, high) else None
    except ArithmeticError:
        return None


def _value(goal: Prop, symbol: Atom, value: int) -> int:
    return goal.expr.at(evaluate_atoms(goal.schedule, {symbol: value}))


def _on_both_sides(prover: Prover, facts: Facts, goal: Prop, turning: tuple[Atom, int, int]) -> ProofStep | None:
    symbol, last, sign = turning
    above = Prop.nonnegative(symbol.expr - (last + 1))
    branches = []
    for case, side in ((above, -sign), (above.negation, sign)):
        inside = prover.suppose(facts, case)
        if inside is None or isinstance(inside, Conflict):
            return None
        smaller, rounds = inside.canonical_prop(Prop.nonnegative(goal.expr * side - 1))
        proof = prove_by_intervals(inside, smaller)
        if proof is None:
            return None
        if rounds:
            proof = rewritten(Prop.nonnegative(goal.expr * side - 1), proof if smaller.kind != "true" else None, rounds)
        branches.append(apart(proof, goal))
    return cases(goal, above, branches)
