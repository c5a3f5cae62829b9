"""One of several guarded variants over the same arguments, as `shapes.guards.dispatch` has it and
`shapes.guards.coverage` reads it.

    >>> from shapes import ShapeEnv
    >>> from shapes.guards.dispatch import Dispatch
    >>> env = ShapeEnv()
    >>> n = env.symbol("n", lo=0)
    >>> env.assume(n % 8 == 0)
    >>> dispatch = Dispatch(["x"])
    >>> dispatch.add(env, "whole vectors", sources={"n": ("x", 0)})
    >>> [(entry.value, entry.order, entry.positions) for entry in dispatch.entries]
    [('whole vectors', (0,), (0,))]
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shapes.guards.arguments import Path
from shapes.guards.codegen import Check
from shapes.guards.decision_tree import Variant

Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True, slots=True)
class Entry(Generic[Found]):
    """One variant as it was added."""

    check: Check
    value: Found
    tests: dict[Path, Hashable]
    variant: Variant
    order: tuple[int, ...]
    """The position of each argument of the check among those of the dispatch."""
    positions: tuple[int, ...]
    """The position of each input of the check among those of the dispatch."""
