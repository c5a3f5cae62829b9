"""Linear integer arithmetic, by refutation, on the facts near the question.

The negated goal, the facts that share atoms with it, the ranges of its monomials and the laws of its floor divisions
and relus are rows over the monomials; `solver.integer` finds a contradiction (a proof), or a point (no proof, perhaps a
witness).

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> x, y, z = (terms.symbol(name) for name in "xyz")
    >>> known = Facts.empty(terms)
    >>> for symbol in (x, y, z):
    ...     known = known.declare_range(symbol, 0, None)
    >>> known = known.learn_prop(terms.le(x + 2 * y, z)).learn_prop(terms.le(2 * x + y, z))
    >>> decide(known, terms.le(3 * x + 3 * y, 2 * z)).rung
    'linear'
"""

from __future__ import annotations

from solver.integer.certificate import Point
from solver.knowledge.base import Knowledge
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep, hypothesis, refute
from solver.rungs.model import Model
from solver.rungs.prover import Prover
from solver.rungs.rows import Rows, given
from solver.terms.prop import Prop


def rows_against(known: Knowledge, goal: Prop) -> Rows:
    """The rows of the negated goal and of its neighbourhood."""
    rows = Rows(known)
    negated = goal.negation
    rows.add(negated, given(hypothesis(negated)))
    rows.grow()
    return rows


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """The goal (a comparison whose negation is one row), by contradiction."""
    del depth
    if goal.kind not in ("ge", "ne"):
        return None
    rows = rows_against(facts, goal)
    outcome = prover.solve(rows)
    if isinstance(outcome, Point):
        prover.consider(Model(rows, outcome, prover.sample))
        return None
    return None if outcome is None else refute(outcome, goal)
