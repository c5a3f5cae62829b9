"""Case split: prove the goal under a condition, and under its negation.

The conditions are those that would settle something: the sign inside a relu, the condition of an `if`, a part of a disjunction among the facts nearby, on which side
of an excluded value a form lies, halves of a small range.

    >>> from solver.interner import Interner
    >>> from solver.facts import Facts
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 9).declare_range(y, 0, 9)
    >>> decide(known, terms.le(terms.maximum(x, y), 9)).rung
    'split'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from solver.expr import Atom, Expr
from solver.facts import Conflict, Facts
from solver.prop import Prop
from solver.reasons import Reason, absurd, cases
from solver.rungs import linear

if TYPE_CHECKING:
    from solver.ladder import Climb

NESTED: Final = 4
CONDITIONS: Final = 4
SMALL: Final = 16
LOOKED: Final = 12


def prove(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """The goal, case by case."""
    if depth >= NESTED:
        return None
    for condition in conditions(facts, [goal.expr] if not goal.parts else [p.expr for p in goal.comparisons()])[:CONDITIONS]:
        if isinstance(condition, Reason):
            proof = _by_parts(climb, facts, goal, condition, depth)
        else:
            proof = _by_sign(climb, facts, goal, condition, depth)
        if proof is not None:
            return proof
        if climb.forks <= 0:
            return None
    return None


def _by_sign(climb: Climb, facts: Facts, goal: Prop, condition: Prop, depth: int) -> Reason | None:
    branches = []
    for p in (condition, condition.negation):
        proof = _under(climb, facts, goal, p, depth)
        if proof is None:
            return None
        branches.append(proof)
    return cases(goal, condition, branches)


def _by_parts(climb: Climb, facts: Facts, goal: Prop, disjunction: Reason, depth: int) -> Reason | None:
    branches = []
    for p in disjunction.conclusion.parts:
        proof = _under(climb, facts, goal, p, depth)
        if proof is None:
            return None
        branches.append(proof)
    return cases(goal, disjunction, branches)


def _under(climb: Climb, facts: Facts, goal: Prop, p: Prop, depth: int) -> Reason | None:
    supposed = climb.suppose(facts, p)
    if supposed is None:
        return None
    if isinstance(supposed, Conflict):
        return absurd(supposed.proof, goal)
    alive = supposed.pool.alive
    if alive:
        truths = supposed.pool.truths(goal)
        if not all(truths[row] for row in alive):
            return None
    else:
        found = linear.inconsistent(climb, supposed, [supposed.canonical(q.expr)[0] for q in p.comparisons()])
        if found is not None:
            return absurd(found, goal)
    return climb.prove(supposed, goal, depth + 1)


def conditions(facts: Facts, near: Sequence[Expr]) -> list[Prop | Reason]:
    """What to split on, the most telling first: a proposition, or a disjunction that is known."""
    interner = facts.interner
    found: dict[Prop, Prop | Reason] = {}
    atoms: dict[Atom, None] = {}
    for e in near:
        for atom in sorted(e.atoms, key=lambda atom: (-atom.depth, atom.key)):
            atoms[atom] = None
    for atom in atoms:
        match atom.kind, atom.args:
            case "relu", (Expr() as e,):
                condition = facts.canonical_prop(interner.nonnegative(e))[0]
                if condition.kind == "ge":
                    found[condition] = condition
            case "ite", (Prop() as p, _):
                for q in facts.canonical_prop(p)[0].comparisons():
                    if q.kind in ("ge", "eq", "ne"):
                        found[q] = q
            case _:
                pass
    for atom in atoms:
        uses = facts.uses.get(atom.serial)
        for _ in range(LOOKED):
            if uses is None:
                break
            p = uses.entry.prop
            if p.kind == "or":
                found[p] = uses.entry.reason
            elif p.kind == "ne" and facts.is_inert(p.expr):
                positive = Prop.nonnegative(p.expr - 1)
                found.setdefault(positive, positive)
            elif len(p.terms) > 1:
                for inner in p.atoms:
                    if inner.kind == "relu" and isinstance(inner.args[0], Expr):
                        condition = facts.canonical_prop(interner.nonnegative(inner.args[0]))[0]
                        if condition.kind == "ge":
                            found.setdefault(condition, condition)
            uses = uses.rest
    for atom in atoms:
        r = facts.range_of(atom.monomial)
        if r.lo is not None and r.hi is not None and 0 < r.hi - r.lo < SMALL:
            middle = interner.nonnegative((r.lo + r.hi) // 2 - atom.expr)
            found.setdefault(middle, middle)
    return list(found.values())
