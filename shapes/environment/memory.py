"""Garbage collection of interned terms: what was kept for questions of the past, and when it is swept.

Expressions are interned, and what facts have found out about questions is remembered with the facts. A program that
tries things out and takes them back would keep all of it; so it is looked through now and then, at a cost that each
node pays once.
"""

from __future__ import annotations

from typing import Final

from shapes.environment.ledger import Ledger
from solver.terms.sweep import size, sweep

NODES_SWEPT: Final = 1 << 15
"""Fewer nodes of the interner than these are never looked through. After that, those that nobody holds are looked for
whenever there are twice as many nodes as were left the last time, so that the search costs each node the same."""


class Memory:
    """The nodes of an interner, as far as one environment has to do with them."""

    __slots__ = ("_ledger", "nodes_allowed")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.nodes_allowed = NODES_SWEPT

    @property
    def is_full(self) -> bool:
        """Whether nodes that nobody holds are looked for."""
        return size(self._ledger.interner) >= self.nodes_allowed

    def forget(self) -> None:
        """Let go of what was kept for questions that have been dropped."""
        self._ledger.table.sides.clear()
        self._ledger.facts.forget_questions()
        if self.is_full:
            interner = self._ledger.interner
            sweep(interner)
            self.nodes_allowed = max(NODES_SWEPT, 2 * size(interner))
