"""Connected components of conditions that share symbols: independent problems, each as small as it can be.

>>> from shapes.guards.components import connected_components
>>> connected_components(["ab", "c", "bd", "", "c"])
[[0, 2], [1, 4], [3]]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def connected_components(tied: Sequence[Iterable[Key]]) -> list[list[int]]:
    """The indices of these sets, grouped by the elements that they share, directly or through others (union-find)."""
    parents = list(range(len(tied)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first: dict[Key, int] = {}
    for index, keys in enumerate(tied):
        for key in keys:
            # the root of a component is its first index, so components come in order
            one, other = sorted((root(first.setdefault(key, index)), root(index)))
            parents[other] = one
    groups: dict[int, list[int]] = {}
    for index in range(len(tied)):
        groups.setdefault(root(index), []).append(index)
    return list(groups.values())
