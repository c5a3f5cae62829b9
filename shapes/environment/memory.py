"""Garbage collection of interned terms: what was kept for questions of the past, and when it is swept.

Expressions are interned, and facts cache what they found out about questions. A program that speculates and rolls back
would keep all of it, so unreferenced nodes are swept from time to time, at constant amortized cost.
"""

from __future__ import annotations

from typing import Final

from shapes.environment.ledger import Ledger
from solver.terms.sweep import size, sweep

NODES_SWEPT: Final = 1 << 15
"""Below this number of nodes the interner is never swept. Above it, unreferenced nodes are swept whenever the number
has doubled since the last sweep, so that the amortized cost of a node is constant."""


class Memory:
    """The garbage collector of one environment."""

    __slots__ = ("_ledger", "nodes_allowed")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.nodes_allowed = NODES_SWEPT

    @property
    def is_full(self) -> bool:
        """True if there are more nodes than are allowed, so that they are to be swept."""
        return size(self._ledger.interner) >= self.nodes_allowed

    def forget(self) -> None:
        """Drop what was cached for questions, and sweep unreferenced nodes if that is due."""
        self._ledger.table.forget_texts()
        self._ledger.facts.forget_questions()
        if self.is_full:
            interner = self._ledger.interner
            sweep(interner)
            self.nodes_allowed = max(NODES_SWEPT, 2 * size(interner))
