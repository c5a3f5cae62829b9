"""Delta debugging: what of a list is needed for a failure.

    >>> ddmin(range(1, 9), lambda left: {2, 7} <= set(left))
    [2, 7]

`ddmin` of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002). The list is cut into
parts: a part that fails alone is all that is left, or else what is left without one; if none can go, parts are halved.
In the end no single item can be left out (the result is 1-minimal), which does not say that no shorter list fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def ddmin(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """Items that fail together, of which none can be left out; all of them are known to fail."""
    left, parts = list(items), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        starts = range(0, len(left), size)
        alone = next((part for part in (left[start : start + size] for start in starts) if fails(part)), None)
        if alone is not None:
            left, parts = alone, 2
            continue
        rest = next((part for part in (left[:start] + left[start + size :] for start in starts) if fails(part)), None)
        if rest is not None:
            left, parts = rest, max(parts - 1, 2)
        elif parts < len(left):
            parts = min(2 * parts, len(left))
        else:
            return left
    return [] if left and fails([]) else left


__all__ = ["ddmin"]
