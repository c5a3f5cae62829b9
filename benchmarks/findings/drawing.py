"""Calls drawn for a survey, and the smallest call on which something happens."""

import contextlib
import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis.strategies import SearchStrategy

from shapes.testing.calls import Call

QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


def drawn(strategy: SearchStrategy[Call], count: int) -> list[Call]:
    """A number of distinct calls, the same in every process."""
    found: dict[str, Call] = {}

    @settings(max_examples=count, phases=[Phase.generate], **QUIET)  # type: ignore[arg-type]
    @seed(0)
    @given(strategy)
    def draw(call: Call) -> None:
        found.setdefault(repr(call), call)

    draw()
    return list(found.values())


def smallest(strategy: SearchStrategy[Call], happens: Callable[[Call], bool], first: Call, seconds: float) -> Call:
    """The smallest call on which it happens that is found in this time, else the first one."""
    best, end = [first], time.monotonic() + seconds

    def seen(call: Call) -> bool:
        if time.monotonic() > end or not happens(call):
            return False
        best.append(call)
        return True

    with contextlib.suppress(Exception):  # nothing found, or out of time and so not the same twice
        find(strategy, seen, settings=settings(max_examples=400, derandomize=True, **QUIET))  # type: ignore[arg-type]
    return best[-1]
