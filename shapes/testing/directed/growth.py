"""Places whose integers a rule or reference counts up to: a loop, or so many outputs. No large ones are tried there.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.growth import Growth
    >>> def halves(call):
    ...     return [part // 2 for part in [call.args[0][0]] * call.args[1]]
    >>> growth = Growth([halves])
    >>> [growth.allows(Call((Input((n,)), k))) for n, k in ((9, 3), (2**31, 3), (9, 2**31), (9, 500))]
    [True, True, False, True]

Two probes tell: the call with its large integers lowered, to one value and to a larger one. Where more lines are run or
more memory is taken for the larger, the work grows with the integer.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

from shapes.testing.calls import Call
from shapes.testing.directed.places import Place, places_of, with_values

LARGE: Final = 512
"""Integers up to this are tried anyway."""
PROBED: Final = (64, 2048)
LINES: Final = 512
BYTES: Final = 15_000
"""By so much lines and memory may grow from one probe to the other."""

ENGINE: Final = ("shapes.", "solver.")
"""Modules whose lines are not counted: what the engine runs depends on what it has kept."""


class Growth:
    """Functions of calls, and the places with which their work grows."""

    def __init__(self, functions: Sequence[Callable[[Call], object]]) -> None:
        self.functions = tuple(functions)
        self.known: dict[tuple[object, ...], bool] = {}

    def allows(self, call: Call) -> bool:
        """Return True if no large integer of a call makes for large work."""
        large = [place for place in places_of(call) if abs(place.value) > LARGE]
        if not large:
            return True
        key = (*[(place.path, place.value < 0) for place in large], len(places_of(call)))
        if key not in self.known:
            works = [_works(function, call, large) for function in self.functions]
            if any(high[0] - low[0] > LINES or high[1] - low[1] > BYTES for low, high in works):
                self.known[key] = False
            elif all(low[2] and high[2] for low, high in works):
                self.known[key] = True
            else:
                # refused before any work: other small integers may be accepted
                return True
        return self.known[key]


Work = tuple[int, int, bool]


def _works(function: Callable[[Call], object], call: Call, large: list[Place]) -> tuple[Work, Work]:
    """The work at the two probes."""
    low, high = [{p.path: value if p.value > 0 else -value for p in large} for value in PROBED]
    return _work(function, with_values(call, low)), _work(function, with_values(call, high))


def _work(function: Callable[[Call], object], call: Call) -> Work:
    """The lines that run, and the bytes that are taken at most, when caches are warm; True if anything came out."""
    lines = 0

    def count(frame: FrameType, event: str, arg: object) -> object:
        nonlocal lines
        if frame.f_globals.get("__name__", "").startswith(ENGINE):
            return None
        lines += event == "line"
        return count

    accepted = _quietly(function, call) is not None
    tracing, tracked = sys.gettrace(), tracemalloc.is_tracing()
    if not tracked:
        tracemalloc.start()
    peaks = []
    for _ in range(5):
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        _quietly(function, call)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    if not tracked:
        tracemalloc.stop()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        _quietly(function, call)
    finally:
        sys.settrace(tracing)
    return lines, min(peaks), accepted


def _quietly(function: Callable[[Call], object], call: Call) -> object:
    try:
        return function(call)
    except Exception:
        return None
