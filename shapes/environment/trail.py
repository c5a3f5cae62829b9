"""Caches with a trail, as in SAT solvers: a rollback removes the entries that are newer than the mark.

    >>> trail = Trail(4)
    >>> trail["a"] = trail["b"] = 1
    >>> mark = trail.position
    >>> trail["c"] = 1
    >>> trail.return_to(mark)
    >>> list(trail)
    ['a', 'b']

Dictionaries keep their order of insertion, so each is its own trail: a rollback pops what is newer than the mark and
costs as much as the stretch that it undoes. A full one drops its oldest quarter, so that memory stays level, and
the trail counts what was dropped.
"""

from __future__ import annotations

from itertools import islice
from typing import Protocol, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Revocable(Protocol):
    """State that a ledger undoes together with its commitments."""

    @property
    def position(self) -> int: ...

    def return_to(self, position: int) -> None: ...


class Trail(dict[K, V]):
    """A bounded dictionary that can go back: `position` counts all entries ever made and not taken back."""

    __slots__ = ("dropped", "limit")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.dropped = 0

    @property
    def position(self) -> int:
        return self.dropped + len(self)

    def make_room(self) -> bool:
        """Drop the oldest quarter of a full dictionary; whether it was full."""
        if len(self) < self.limit:
            return False
        oldest = list(islice(self, (self.limit + 3) // 4))
        for key in oldest:
            del self[key]
        self.dropped += len(oldest)
        return True

    def return_to(self, position: int) -> None:
        """Take the entries away that were made since."""
        for _ in range(min(len(self), self.position - position)):
            self.popitem()
        self.dropped = min(self.dropped, position)
