"""A map that is a value: changing it gives a new one that shares what did not change.

    >>> from solver.persistent import ShardedMap
    >>> first = ShardedMap()
    >>> draft = first.draft()
    >>> draft.set(7, "seven")
    >>> second = draft
    >>> second.get(7), first.get(7)
    ('seven', None)

Two levels of plain dictionaries: a draft copies the list of shards, and a shard when it is first written. At thousands
of entries that is a microsecond where copying the whole map is tens, and a look-up is two plain look-ups. Keys are
integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

V = TypeVar("V")

SHARDS: Final = 64
MASK: Final = SHARDS - 1


class ShardedMap(Generic[V]):
    """Integers to values. Only the draft that made a shard may write it; a map that was handed out is not written
    again.
    """

    __slots__ = ("_owned", "count", "shards")

    def __init__(self, base: ShardedMap[V] | None = None) -> None:
        # all empty shards are one dictionary, which is never written: `set` copies it first
        self.shards: list[dict[int, V]] = [{}] * SHARDS if base is None else base.shards.copy()
        self._owned = 0
        self.count: int = 0 if base is None else base.count

    def get(self, key: int) -> V | None:
        return self.shards[key & MASK].get(key)

    def draft(self) -> ShardedMap[V]:
        """A copy to write to."""
        return ShardedMap(self)

    def set(self, key: int, value: V) -> None:
        index = key & MASK
        bit = 1 << index
        if not self._owned & bit:
            self.shards[index] = self.shards[index].copy()
            self._owned |= bit
        shard = self.shards[index]
        self.count += key not in shard
        shard[key] = value

    def items(self) -> Iterator[tuple[int, V]]:
        for shard in self.shards:
            yield from shard.items()
