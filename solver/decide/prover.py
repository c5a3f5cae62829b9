"""One question being decided: the rungs in order, what they may cost, and what was tried.

    >>> from solver.decide.prover import climb_of
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 2, None).declare_range(y, 2, None)
    >>> climb = climb_of(known)
    >>> climb.prove(known, terms.ge(x * y, x + y)).rule, climb.rung
    ('shift', 'shift')

A rung may prove a smaller goal through the climb, suppose something, and have linear rows solved; all of it is charged
to one budget, so that a question costs at most so much however its rungs are nested. A point of a linear relaxation
that turns out to be a witness against the goal ends the climb: the question is open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Final, Literal

from solver.integer import Budget, Point
from solver.integer.work_budget import Meter
from solver.knowledge.decided_atoms import prove_by_intervals
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.laws import rewritten
from solver.proofs.step import Reason, apart, equal, every, some
from solver.rungs import (
    bounds,
    box,
    extremes,
    factor,
    isolate,
    linear,
    multiplied,
    refine,
    remainder,
    residues,
    shift,
    split,
)
from solver.rungs.linear import Rows
from solver.rungs.model import Model
from solver.samples.witness import Witness
from solver.samples.witness_search import near
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

Effort = Literal["fast", "default", "thorough"]

EFFORTS: Final = {"fast": 0, "default": 1, "thorough": 2}
"""From the least to the most. Only a thorough question may ask z3 and sympy."""
FORKS: Final = {"fast": 2, "default": 24, "thorough": 48}
"""How many times one question may suppose something."""
WORK: Final = {"fast": 2_000, "default": 120_000, "thorough": 400_000}
"""Numbers that the linear solver may touch for one question, roughly 0.1 µs each."""
SEARCH: Final = 50_000
"""What the longer search for a witness may cost, beside the budget of the rungs."""
SOLVING: Final = Budget(work=60_000, cuts=24, branches=24)
"""The limits of one linear problem."""
FORK: Final = 1_000
"""What it costs to suppose something, in the same unit, and for each statement learned from it."""
STEP: Final = 150
POINT: Final = 12_000
POINTS: Final = 6
"""Points of linear relaxations that are tried as witnesses of one question."""


class Open(Exception):
    """A witness against the goal was found on the way: the question is open."""

    def __init__(self, witness: Witness) -> None:
        super().__init__(witness)
        self.witness = witness


class Climb:
    """One question being decided: its budget, and what was tried."""

    __slots__ = (
        "base", "deadline", "effort", "facts", "forks", "opposite", "points", "rung", "rungs", "search",
        "sliced", "solved", "solvers", "spent", "tried", "work",
    )  # fmt: skip

    def __init__(
        self, facts: Facts, effort: Effort, solvers: bool, rungs: frozenset[str], deadline: float | None
    ) -> None:
        self.facts = facts
        self.effort = effort
        self.solvers = solvers
        self.rungs = rungs
        self.forks = FORKS[effort]
        self.tried: dict[str, None] = {}
        self.work = WORK[effort]
        self.rung = ""
        self.opposite: tuple[Prop, ...] | None = None
        self.base: int | None = None
        self.solved: tuple[Atom, ...] = ()
        self.points = POINTS
        self.sliced = False
        """Whether it is about the slice of a question already."""
        self.search = SEARCH
        """What the longer search for a witness may cost."""
        self.spent = 0
        """The work of attempts with budgets of their own."""
        self.deadline = deadline
        """When the question is given up, as `time.perf_counter` counts."""

    def allows(self, rung: str) -> bool:
        if rung not in self.rungs or self.is_late():
            return False
        self.tried[rung] = None
        return True

    def is_late(self) -> bool:
        return self.deadline is not None and perf_counter() > self.deadline

    def metered(self, work: int) -> Meter:
        """A meter with so much work."""
        meter = Meter(SOLVING)
        meter.work = work
        return meter

    def milliseconds_left(self) -> int | None:
        """None without a time-out."""
        return None if self.deadline is None else max(1, int((self.deadline - perf_counter()) * 1000))

    # ------------------------------------------------------------------ proving

    def prove(self, facts: Facts, goal: Prop, depth: int = 0) -> Reason | None:
        """A proof of the goal by any rung, or None."""
        canonical, rounds = facts.canonical_prop(goal)
        proof = self.prove_canonical(facts, canonical, depth)
        if proof is None or canonical is goal:
            return proof
        return rewritten(goal, proof if canonical.kind != "true" else None, rounds)

    def prove_canonical(self, facts: Facts, goal: Prop, depth: int) -> Reason | None:
        match goal.kind:
            case "true":
                return Reason("trivial", goal)
            case "false":
                return None
            case "and":
                reasons = []
                for p in goal.parts:
                    reason = self.prove(facts, p, depth)
                    if reason is None:
                        return None
                    reasons.append(reason)
                return every(goal, reasons)
            case "or":
                return self.prove_disjunction(facts, goal, depth)
            case _:
                return self.prove_comparison(facts, goal, depth)

    def prove_disjunction(self, facts: Facts, goal: Prop, depth: int) -> Reason | None:
        alive = facts.pool.alive
        likely = []
        for p in goal.parts:
            truths = facts.pool.truths(p) if alive else []
            if all(truths[row] for row in alive):
                likely.append(p)
                proof = self.prove_quickly(facts, p)
                if proof is not None:
                    self.rung = "parts"
                    return some(goal, proof)
        for name, rung in (("box", box.prove), ("refine", refine.prove)):
            if self.allows(name):
                proof = rung(self, facts, goal, depth)
                if proof is not None:
                    self.rung = name
                    return proof
        for p in likely:
            proof = self.prove(facts, p, depth + 1)
            if proof is not None:
                self.rung = "parts"
                return some(goal, proof)
        return None

    def prove_quickly(self, facts: Facts, goal: Prop) -> Reason | None:
        """A comparison by the cheap rungs."""
        proof = prove_by_intervals(facts, goal)
        if proof is None and goal.kind == "ge":
            proof = self.prove_simply(facts, goal.expr)
        if proof is None and self.allows("linear"):
            proof = linear.prove(self, facts, goal, 0)
        return proof

    def prove_comparison(self, facts: Facts, goal: Prop, depth: int) -> Reason | None:
        if "bounds" in self.rungs:
            settled = bounds.settle(facts, goal)
            if settled is not None:
                self.rung = self.rung or "bounds"
                return settled[1] if settled[0] else None
        if self.allows("factor"):
            smaller = without_factors(facts, goal)
            if smaller is not None:
                proof = self.prove(facts, smaller.goal, depth)
                return None if proof is None else factored(smaller, goal, proof)
        if goal.kind in ("eq", "ne") and self.allows("factor"):
            proof = multiplied.prove(facts, goal)
            if proof is not None:
                self.rung = "factor"
                return proof
        if goal.kind == "eq":
            above = self.prove(facts, Prop.nonnegative(goal.expr), depth)
            if above is None:
                return None
            below = self.prove(facts, Prop.nonnegative(-goal.expr), depth)
            return None if below is None else equal(above, below)
        if goal.kind == "ne":
            proof = self.prove_apart(facts, goal)
            if proof is not None:
                return proof
        else:
            proof = self.prove_simply(facts, goal.expr)
            if proof is not None:
                return proof
        for name, rung in CLIMBED_BY_FACTORS if factor.comes_first(goal) else CLIMBED:
            if self.allows(name):
                proof = rung(self, facts, goal, depth)
                if proof is not None:
                    self.rung = name
                    return proof
        return None

    def prove_apart(self, facts: Facts, goal: Prop) -> Reason | None:
        """`e != 0` because e is positive, or negative: the side that the samples show."""
        values = facts.pool.values(goal.expr)
        signs = {(values[row] > 0) - (values[row] < 0) for row in facts.pool.alive}
        for sign in (1, -1):
            if signs <= {sign}:
                proof = self.prove_simply(facts, goal.expr * sign - 1)
                if proof is not None:
                    return apart(proof, goal)
        return None

    def prove_simply(self, facts: Facts, e: Expr) -> Reason | None:
        """`e >= 0` by the rungs that cost less than looking for a witness."""
        for name, rung in SIMPLE:
            if self.allows(name):
                proof = rung(facts, e)
                if proof is not None:
                    self.rung = name
                    return proof
        return None

    def suppose(self, facts: Facts, p: Prop) -> Facts | Conflict | None:
        """The facts with a hypothesis; None when the budget is used up."""
        if self.forks <= 0 or self.work <= 0 or self.is_late():
            return None
        self.forks -= 1
        supposed = facts.suppose(p)
        self.work -= FORK + (STEP * supposed.steps if isinstance(supposed, Facts) else 0)
        return supposed

    def solve(self, rows: Rows) -> Reason | Point | None:
        """A contradiction of linear rows, or a point; None when the budget is used up."""
        if self.work <= 0:
            return None
        self.work -= rows.cost
        rows.cost = 0
        meter = self.metered(min(SOLVING.work, self.work))
        before = meter.work
        if before <= 0 or self.is_late():
            return None
        outcome = rows.contradiction(meter)
        self.work -= before - meter.work + rows.cost
        rows.cost = 0
        return outcome

    # ------------------------------------------------------------------ witnesses

    def sample(self, atom: Atom) -> int:
        """The value of a symbol in the sample that points are completed from."""
        return self.facts.pool.atom_column(atom)[self.base or 0]

    def consider(self, model: Model) -> None:
        """Whether a point of a relaxation is a witness of the question.

        Raises:
            Open: it is.
        """
        values = model.symbols()
        solved = model.rows.known.solved
        for p in self.opposite or ():
            for symbol in p.symbols:  # those that hypotheses have eliminated
                if symbol not in values and solved.get(symbol.monomial) is not None:
                    values[symbol] = model.atom(symbol)
        self.consider_values(values)

    def consider_values(self, values: Mapping[Atom, int]) -> None:
        """Whether these values of some symbols are part of a witness of the question.

        Raises:
            Open: they are.
        """
        if self.opposite is None or not self.points or self.work < POINT or "search" not in self.rungs:
            return
        self.points -= 1
        self.work -= POINT
        found = near(self.facts, self.opposite, values, row=self.base, solved=self.solved)
        if found is not None:
            raise Open(found)


Rung = Callable[[Climb, Facts, Prop, int], Reason | None]

CLIMBED: Final[Sequence[tuple[str, Rung]]] = (
    ("split", split.without_value),
    ("linear", linear.prove),
    ("box", box.prove),
    ("residues", residues.prove),
    ("extremes", extremes.prove),
    ("factor", factor.prove),
    ("isolate", isolate.prove),
    ("split", split.prove),
    ("refine", refine.prove),
)
CLIMBED_BY_FACTORS: Final[Sequence[tuple[str, Rung]]] = (
    ("factor", factor.prove),
    *[each for each in CLIMBED if each[0] != "factor"],
)
SIMPLE: Final[Sequence[tuple[str, Callable[[Facts, Expr], Reason | None]]]] = (
    ("shift", shift.prove_nonnegative),
    ("remainder", remainder.prove_nonnegative),
    ("extremes", extremes.prove_nonnegative),
)
RUNGS: Final = frozenset(
    (
        *("bounds", "shift", "remainder", "factor", "linear", "box", "residues", "extremes", "isolate", "split"),
        *("refine", "search", "sympy", "z3"),
    )
)


def climb_of(
    facts: Facts,
    *,
    effort: Effort = "thorough",
    solvers: bool = False,
    rungs: frozenset[str] = RUNGS,
    deadline: float | None = None,
) -> Climb:
    """A climb with the whole budget of its effort."""
    return Climb(facts, effort, solvers, rungs, deadline)
