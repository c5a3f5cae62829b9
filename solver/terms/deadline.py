"""The time-out of a question: where work happens, `look` ends what takes too long.

    >>> from solver.terms.deadline import Late, limited, look
    >>> look()
    >>> with limited(0):
    ...     look()
    Traceback (most recent call last):
    solver.terms.deadline.Late: the time is over

Each thread has the deadline of the question that it asks. `look` may raise, so nothing calls it between changes that
belong together: what a question has computed is then whole, or it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter
from typing import Final

clock: Callable[[], float] = perf_counter
"""The clock of deadlines, in seconds; tests replace it."""

_ends: Final[dict[int, float]] = {}
"""The time at which the question of a thread ends, as `clock` counts; empty most of the time."""


class Late(Exception):
    """The deadline of the question is past, after some rungs were `tried` and so much work was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.tried: tuple[str, ...] = ()
        self.work = 0


def look() -> None:
    """End the question if its time is over.

    Raises:
        Late: it is.
    """
    if _ends:
        end = _ends.get(get_ident())
        if end is not None and clock() >= end:
            raise Late("the time is over")


def seconds_left() -> float | None:
    """The seconds until the deadline of this thread; None without one."""
    end = _ends.get(get_ident()) if _ends else None
    return None if end is None else end - clock()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Limit the work in here, and never beyond the limit around it."""
    thread = get_ident()
    around = _ends.get(thread)
    end = clock() + seconds
    _ends[thread] = end if around is None or end < around else around
    try:
        yield
    finally:
        if around is None:
            del _ends[thread]
        else:
            _ends[thread] = around
