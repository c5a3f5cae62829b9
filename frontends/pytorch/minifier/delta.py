"""Delta debugging: minimize a list that causes a failure.

    >>> ddmin(range(1, 9), lambda left: {2, 7} <= set(left))
    [2, 7]

`ddmin` of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002). The list is split into
parts. If a part, or the complement of a part, still fails, continue with it; otherwise halve the parts. The result is
1-minimal: no single item can be removed, though a shorter failing list may exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def ddmin(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """A 1-minimal failing sublist; the whole list is known to fail."""
    left, granularity = list(items), 2
    while len(left) > 1:
        size = -(-len(left) // granularity)
        starts = range(0, len(left), size)
        alone = next((part for part in (left[start : start + size] for start in starts) if fails(part)), None)
        if alone is not None:
            left, granularity = alone, 2
            continue
        rest = next((part for part in (left[:start] + left[start + size :] for start in starts) if fails(part)), None)
        if rest is not None:
            left, granularity = rest, max(granularity - 1, 2)
        elif granularity < len(left):
            granularity = min(2 * granularity, len(left))
        else:
            return left
    return [] if left and fails([]) else left
