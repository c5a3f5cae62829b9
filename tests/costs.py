"""Costs in units that hold on any machine: processor time, as a multiple of a plain call of Python beside it."""

from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = 9


def in_calls(function: Callable[[], object], *, times: int = 1000, depth: int = 0) -> float:
    """The number of calls of an empty function that take as long; the least of some rounds, as noise only adds."""
    if depth:  # from that many frames further down
        return (lambda: in_calls(function, times=times, depth=depth - 1))()
    costs, calls = [], []
    for _ in range(ROUNDS):
        costs.append(_seconds(function, times))
        calls.append(_seconds(_nothing, times))
    return min(costs) / min(calls)


def _seconds(function: Callable[[], object], times: int) -> float:
    began = time.thread_time()
    for _ in range(times):
        function()
    return (time.thread_time() - began) / times


def _nothing() -> None:
    pass
