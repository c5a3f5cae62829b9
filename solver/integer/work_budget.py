"""What one call has spent of its budget: `spend` raises `Exhausted`, which ends the call as `Unknown`."""

from __future__ import annotations

from solver.integer.certificate import Budget


class Exhausted(Exception):
    """A limit of the budget is reached; the message names it."""


class Meter:
    """What is left of a budget."""

    __slots__ = ("branches", "cuts", "work")

    def __init__(self, budget: Budget) -> None:
        self.work = budget.work
        self.cuts = budget.cuts
        self.branches = budget.branches

    def spend(self, numbers: int, bits: int = 0) -> None:
        """Count the touching of so many numbers of so many bits."""
        self.work -= numbers + (numbers * bits >> 8)
        if self.work < 0:
            raise Exhausted("work")

    def branch(self) -> None:
        self.branches -= 1
        if self.branches < 0:
            raise Exhausted("branches")
