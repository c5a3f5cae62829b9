"""Topological order, operands first, by depth-first search with a stack of its own.

    >>> operands = {"c": "ab", "b": "a", "a": "", "d": "cb"}
    >>> "".join(toposort("d", operands.get))
    'abcd'

A depth-first postorder with an explicit stack, as expressions may be deeper than Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def toposort(roots: Iterable[T], parts: Callable[[T], Sequence[T]]) -> Iterator[T]:
    """The roots and all that they depend on, each once."""
    seen: set[T] = set()
    for root in roots:
        stack: list[tuple[T, bool]] = [(root, False)]
        while stack:
            value, ready = stack.pop()
            if ready:
                yield value
            elif value not in seen:
                seen.add(value)
                stack.append((value, True))
                stack.extend([(part, False) for part in reversed(parts(value))])
