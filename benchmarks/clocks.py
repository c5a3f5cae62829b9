"""The clock of a measurement: processor time for one thread, as the machine may be shared; else wall time.

    >>> clock_for(1).__name__, clock_for(2).__name__
    ('process_time', 'perf_counter')
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]


def clock_for(threads: int) -> Clock:
    """Processor time where one thread works, else wall time; in seconds."""
    return time.process_time if threads == 1 else time.perf_counter


__all__ = ["Clock", "clock_for"]
