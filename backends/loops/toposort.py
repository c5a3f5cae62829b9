"""The order in which things that are made from each other come about: what each is made from before it.

    >>> made_from = {"c": "ab", "b": "a", "a": "", "d": "cb"}
    >>> "".join(parts_first("d", made_from.get))
    'abcd'

Without recursion, as expressions may be deeper than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def parts_first(roots: Iterable[T], parts: Callable[[T], Sequence[T]]) -> Iterator[T]:
    """These and all that they are made from, each once."""
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
