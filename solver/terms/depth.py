"""The limit on how deep operations nest, and stack for recursion down to the innermost.

    >>> from solver.terms.depth import DEEPEST, room_for
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> e = terms.symbol("x")
    >>> for _ in range(DEEPEST + 1):
    ...     e = (e + 1) // 2 * e
    Traceback (most recent call last):
    solver.errors.NotExpressible: operations nested more than 1,000 levels deep

What is known of an operation is worked out from what is known of its arguments, so the engine walks as deep as an
expression is nested. Python's own frames are on the heap: raising the recursion limit for the time of the walk is all
that it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

DEEPEST: Final = 1000
"""Limit of nested operations; a deeper one is refused when it is built."""
SHALLOW: Final = 20
"""Levels that every recursion limit has room for."""
FRAMES: Final = 60
"""Calls that one level may take."""


@contextmanager
def room_for(depth: int) -> Iterator[None]:
    """Make room for recursion through this many levels inside the `with` block."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + FRAMES * depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
