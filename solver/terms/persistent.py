"""A map that is a value: changing it gives a new one that shares what did not change.

    >>> from solver.terms.persistent import ShardedMap
    >>> first = ShardedMap()
    >>> draft = first.draft()
    >>> draft.set(7, "seven")
    >>> second = draft
    >>> second.get(7), first.get(7)
    ('seven', None)

Two levels of plain dictionaries: a draft copies the list of shards when it is first written, and a shard when that is.
At thousands of entries that is a microsecond where copying the whole map is tens, a draft that nothing is written to
costs next to nothing, and a look-up is two plain look-ups. A small map is one shard: most are, and there are many. Keys
are integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

V = TypeVar("V")

SHARDS: Final = 64
"""A power of two."""
SMALL: Final = 48
"""Entries that one shard holds before the map is split."""


class ShardedMap(Generic[V]):
    """Integers to values. Only the draft that made a shard may write it.

    A map that was handed out is not written again.
    """

    __slots__ = ("_owned", "count", "mask", "shards")

    def __init__(self, base: ShardedMap[V] | None = None) -> None:
        self.shards: list[dict[int, V]] = [{}] if base is None else base.shards
        self.mask: int = 0 if base is None else base.mask
        self._owned = 0
        self.count: int = 0 if base is None else base.count

    def get(self, key: int) -> V | None:
        return self.shards[key & self.mask].get(key)

    def draft(self) -> ShardedMap[V]:
        """A copy to write to."""
        return ShardedMap(self)

    def set(self, key: int, value: V) -> None:
        if self.count >= SMALL and not self.mask:
            self._split()
        index = key & self.mask
        bit = 1 << index
        if not self._owned & bit:
            if not self._owned:
                self.shards = self.shards.copy()
            self.shards[index] = self.shards[index].copy()
            self._owned |= bit
        shard = self.shards[index]
        self.count += key not in shard
        shard[key] = value

    def _split(self) -> None:
        (whole,) = self.shards
        # all empty shards are one dictionary, which is never written: `set` copies it first
        self.shards = [{}] * SHARDS
        self.mask = SHARDS - 1
        self._owned = 0
        self.count = 0
        for key, value in whole.items():
            self.set(key, value)

    def items(self) -> Iterator[tuple[int, V]]:
        for shard in self.shards:
            yield from shard.items()
