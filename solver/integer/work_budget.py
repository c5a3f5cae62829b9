"""The work budget of one call: `spend` counts against it and raises `Exhausted`, which ends the call as `Unknown`."""

from __future__ import annotations

from dataclasses import dataclass

from solver.terms.deadline import look


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call. The same question under the same limits has the same answer on every machine.

    `work` counts numbers touched (by pivots, eliminations, basis reduction; long numbers count more), roughly 0.1 µs
    each.
    """

    work: int = 2_000_000
    cuts: int = 400
    branches: int = 400

class Exhausted(Exception):
    """A limit is reached; the message names it."""


class WorkBudget:
    """The rest of the limits of one call."""

    __slots__ = ("branches", "cuts", "work")

    def __init__(self, limits: Limits) -> None:
        self.work = limits.work
        self.cuts = limits.cuts
        self.branches = limits.branches

    def spend(self, numbers: int, bits: int = 0) -> None:
        """Charge for touching this many numbers of this many bits."""
        self.work -= numbers + (numbers * bits >> 8)
        if self.work < 0:
            raise Exhausted("work")
        look()

    def branch(self) -> None:
        self.branches -= 1
        if self.branches < 0:
            raise Exhausted("branches")
