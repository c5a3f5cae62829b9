"""The table of the rungs: what each proves, what it costs, and in which order the prover tries them.

    >>> [rung.name for rung in SIMPLE]
    ['shift', 'remainder', 'extremes', 'differences', 'elimination']
    >>> {rung.cost for rung in LADDER if rung.name == "refine"}
    {'hypotheses'}

A new rung is a function in a module of its own in `solver.rungs`, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from solver.knowledge import differences, maxima, remainder, shift
from solver.knowledge.extremes import prove_clamps
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep
from solver.rungs import box, extremes, factor, isolate, linear, refine, residues, split
from solver.rungs.prover import Prover
from solver.terms.prop import Prop

Cost = Literal["facts", "work", "hypotheses"]
"""Spent by a rung: it reads what is known, solves linear problems within the work budget, or makes hypotheses."""
Prove = Callable[[Prover, Facts, Prop, int], ProofStep | None]

INEQUALITIES: Final = frozenset(("ge",))
COMPARISONS: Final = frozenset(("ge", "ne"))


class Rung:
    """One decision procedure.

    Attributes:
        name: in verdicts, and among the rungs that a question may try.
        needs: the kinds of goals that it proves.
        cost: what it spends.
        prove: a proof of exactly the goal, or None.
    """

    __slots__ = ("cost", "name", "needs", "prove")

    def __init__(self, name: str, needs: frozenset[str], cost: Cost, prove: Prove) -> None:
        self.name: Final = name
        self.needs: Final = needs
        self.cost: Final = cost
        self.prove: Final = prove


def _shift(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    return shift.prove_nonnegative(facts, goal.expr)


def _remainder(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    return remainder.prove_nonnegative(facts, goal.expr)


def _clamps(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    return prove_clamps(facts, goal.expr)


def _differences(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    return differences.prove_nonnegative(facts, goal.expr)


def _elimination(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    return maxima.prove_nonnegative(facts, goal.expr)


TABLE: Final[tuple[Rung, ...]] = (
    Rung("shift", INEQUALITIES, "facts", _shift),
    Rung("remainder", INEQUALITIES, "facts", _remainder),
    Rung("extremes", INEQUALITIES, "facts", _clamps),
    Rung("differences", INEQUALITIES, "facts", _differences),
    Rung("elimination", INEQUALITIES, "facts", _elimination),
    Rung("split", COMPARISONS, "hypotheses", split.without_value),
    Rung("linear", COMPARISONS, "work", linear.prove),
    Rung("box", COMPARISONS | {"or"}, "work", box.prove),
    Rung("residues", COMPARISONS, "work", residues.prove),
    Rung("extremes", COMPARISONS | {"or"}, "work", extremes.prove),
    Rung("factor", COMPARISONS, "work", factor.prove),
    Rung("isolate", COMPARISONS, "work", isolate.prove),
    Rung("split", COMPARISONS, "hypotheses", split.prove),
    Rung("refine", COMPARISONS | {"or"}, "hypotheses", refine.prove),
)
"""All rungs that prove, cheapest first."""

SIMPLE: Final = tuple([rung for rung in TABLE if rung.cost == "facts"])
"""The rungs that cost less than a witness search."""
LADDER: Final = tuple([rung for rung in TABLE if rung.cost != "facts"])
"""The rungs for comparisons that the simple ones leave open."""
FACTORS_FIRST: Final = tuple(sorted(LADDER, key=lambda rung: rung.name != "factor"))
"""The rungs for products of clamps."""
DISJUNCTIVE: Final = tuple(
    [rung for name in ("extremes", "box", "refine") for rung in LADDER if rung.name == name and "or" in rung.needs]
)
"""The rungs for disjunctions as a whole."""


def in_order(goal: Prop) -> tuple[Rung, ...]:
    """The rungs for a goal, in the order in which they are tried."""
    if goal.kind == "or":
        return DISJUNCTIVE
    return FACTORS_FIRST if factor.comes_first(goal) else LADDER
