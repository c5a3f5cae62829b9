"""Case analysis of min, max and abs, one clamp at a time (`solver.knowledge.extremes`), on the budget of the question.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> symbols = [terms.symbol(f"a{i}") for i in range(30)]
    >>> known, largest = Facts.empty(terms), symbols[0]
    >>> for symbol in symbols:
    ...     known, largest = known.declare_range(symbol, 0, 9), terms.maximum(largest, symbol)
    >>> decide(known, terms.le(largest, 9)).rung
    'extremes'
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.extremes import ClampSplit, outermost
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep
from solver.rungs.prover import Prover
from solver.terms.prop import Prop

GOALS: Final = 96
"""Goals that one question is split into."""
GOAL: Final = 400
"""The cost of each goal, in units of the linear solver's work."""


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """An inequality over clamps, by inequalities over their arguments."""
    if goal.kind != "ge" or depth or outermost(goal.expr) is None:
        return None
    splits = ClampSplit(facts, min(GOALS, prover.work // GOAL))
    before = splits.goals
    proof = splits.prove(goal)
    prover.work -= GOAL * (before - splits.goals)
    return proof
