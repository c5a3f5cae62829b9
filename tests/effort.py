"""The number of examples that a search looks at, fewer in a quick run, more in a thorough one; limits of the cost of a
case.

    @settings(max_examples=examples(150))
    @settings(max_examples=examples(20, thorough=300))
    @processor_seconds(100)
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

from hypothesis import settings

QUICK: Final = 10
"""A quick run looks at one example of so many."""
THOROUGH: Final = 5
"""A thorough run looks at so many times the examples."""


def examples(count: int, *, thorough: int = 0) -> int:
    """The number of examples in this profile for the suite's number; `thorough` where that is no multiple."""
    match settings.get_current_profile_name():
        case "quick":
            return max(2, count // QUICK)
        case "thorough":
            return thorough or count * THOROUGH
    return count


@contextmanager
def processor_seconds(most: float) -> Iterator[None]:
    """Fail what takes more of the processor than that. What the machine does besides is not counted, as a clock does.

    For what takes milliseconds, or hours where it is wrong: `most` tells these apart on a machine of any speed. Code
    that never comes back to Python is ended by the time limit of every test.
    """
    reached = []

    def too_long(number: int, frame: object) -> NoReturn:
        reached.append(True)
        raise AssertionError(f"takes more than {most:g} seconds of the processor")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, most, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    # where it was caught on the way
    assert not reached, f"took more than {most:g} seconds of the processor"
