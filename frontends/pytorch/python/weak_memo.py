"""Functions of one object that remember what they found for as long as it lives.

    >>> from frontends.pytorch.python.weak_memo import while_alive
    >>> @while_alive
    ... def name_of(function):
    ...     print("looks")
    ...     return function.__name__
    >>> def f(): ...
    >>> name_of(f), name_of(f)
    looks
    ('f', 'f')

Objects are told apart by identity: equal code may be that of other functions, and comparing it is slow.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def while_alive(compute: Callable[[K], V]) -> Callable[[K], V]:
    """Compute once for each object."""
    known: dict[int, tuple[weakref.ref[K], V]] = {}

    @functools.wraps(compute)
    def remembering(key: K) -> V:
        place = id(key)
        found = known.get(place)
        if found is None or found[0]() is not key:
            value = compute(key)
            # at interpreter shutdown globals are gone before code
            found = known[place] = weakref.ref(key, functools.partial(known.pop, place)), value
        return found[1]

    return remembering
