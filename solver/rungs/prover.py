"""The prover as a rung sees it: proofs of smaller goals, hypotheses, points of linear relaxations, and the rest of the
work budget.

One budget serves a question however its rungs are nested. The implementation, which tries the rungs in order for each
goal, is in `solver.decide.prover`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Final

from solver.integer.certificate import Point
from solver.integer.work_budget import Limits, WorkBudget
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.step import ProofStep
from solver.rungs.effort import FORKS, RUNGS, WORK, Effort
from solver.rungs.model import Model
from solver.rungs.rows import Rows
from solver.samples.witness import Witness
from solver.samples.witness_search import repaired
from solver.terms.deadline import look
from solver.terms.expr import Atom
from solver.terms.prop import Prop

SEARCH: Final = 50_000
"""The budget of the longer search for a witness, beside the budget of the rungs."""
SOLVING: Final = Limits(work=60_000, cuts=24, branches=24)
"""The limits of one linear problem."""
FORK: Final = 1_000
"""The cost, in the same unit, of a hypothesis and of each statement learned from it."""
STEP: Final = 150
POINT: Final = 12_000
"""Cost limit of trying a point of a linear relaxation as a witness."""
TRIED: Final = 1_000
"""The cost of trying a point beside that of the search."""
POINTS: Final = 6
"""Points tried for one question."""


class Open(Exception):
    """A counterexample to the goal: the question is open."""

    def __init__(self, witness: Witness) -> None:
        super().__init__(witness)
        self.witness = witness


class Prover(ABC):
    """The state of one question: its work budget, and the rungs tried."""

    __slots__ = (
        "base", "derived", "effort", "facts", "forks", "limited", "opposite", "points", "rung", "rungs", "search",
        "sliced", "solved", "solvers", "spent", "tried", "work",
    )  # fmt: skip

    def __init__(
        self,
        facts: Facts,
        effort: Effort = "thorough",
        *,
        solvers: bool = False,
        rungs: frozenset[str] = RUNGS,
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
        """True if this prover decides the slice of a question already."""
        self.limited = False
        """True if the work is limited below the effort: then an unknown says nothing about another attempt."""
        self.derived = False
        """True once lemmas about the quotients of the question were looked for."""
        self.search = SEARCH
        """The budget of the longer search for a witness."""
        self.spent = 0
        """Work spent by attempts with budgets of their own."""

    def allows(self, rung: str) -> bool:
        if rung not in self.rungs:
            return False
        look()
        self.tried[rung] = None
        return True

    @property
    def spent_in_all(self) -> int:
        """The work of the question so far."""
        return WORK[self.effort] - self.work + self.spent

    def budget_of(self, work: int) -> WorkBudget:
        """A budget with so much work."""
        budget = WorkBudget(SOLVING)
        budget.work = work
        return budget

    # ------------------------------------------------------------------ proving

    @abstractmethod
    def prove(self, facts: Facts, goal: Prop, depth: int = 0) -> ProofStep | None:
        """A proof of the goal by any rung, or None."""

    def prove_all(self, facts: Facts, goals: Iterable[Prop], depth: int) -> list[ProofStep] | None:
        """A proof of each goal; None where one has none."""
        proofs = []
        for goal in goals:
            proof = self.prove(facts, goal, depth)
            if proof is None:
                return None
            proofs.append(proof)
        return proofs

    @abstractmethod
    def prove_canonical(self, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
        """A proof of a goal that is canonical under the facts."""

    @abstractmethod
    def prove_quickly(self, facts: Facts, goal: Prop) -> ProofStep | None:
        """A proof of a comparison by the cheap rungs."""

    def suppose(self, facts: Facts, p: Prop) -> Facts | Conflict | None:
        """The facts with a hypothesis; None when the budget is spent."""
        if self.forks <= 0 or self.work <= 0:
            return None
        look()
        self.forks -= 1
        supposed = facts.suppose(p)
        self.work -= FORK + (STEP * supposed.steps if isinstance(supposed, Facts) else 0)
        return supposed

    def solve(self, rows: Rows) -> ProofStep | Point | None:
        """A refutation of linear rows, or a point; None when the budget is spent."""
        if self.work <= 0:
            return None
        self.work -= rows.cost
        rows.cost = 0
        budget = self.budget_of(min(SOLVING.work, self.work))
        before = budget.work
        if before <= 0:
            return None
        outcome = rows.contradiction(budget)
        self.work -= before - budget.work + rows.cost
        rows.cost = 0
        return outcome

    # ------------------------------------------------------------------ witnesses

    def sample(self, atom: Atom) -> int:
        """The value of a symbol in the sample that completes points."""
        return self.facts.samples.atom_column(atom)[self.base or 0]

    def consider(self, model: Model) -> None:
        """Try a point of a relaxation as a counterexample.

        Raises:
            Open: it is one.
        """
        values = model.symbols()
        solved = model.rows.known.solved
        for p in self.opposite or ():
            for symbol in p.symbols:  # those that hypotheses have eliminated
                if symbol not in values and solved.get(symbol.monomial) is not None:
                    values[symbol] = model.atom(symbol)
        self.consider_values(values)

    def consider_values(self, values: Mapping[Atom, int]) -> None:
        """Try to extend values of some symbols to a counterexample.

        Raises:
            Open: it was found.
        """
        if self.opposite is None or not self.points or self.work < POINT or "search" not in self.rungs:
            return
        self.points -= 1
        budget = self.budget_of(POINT - TRIED)
        found = repaired(self.facts, self.opposite, values, row=self.base, solved=self.solved, budget=budget)
        self.work -= POINT - budget.work
        if found is not None:
            raise Open(found)
