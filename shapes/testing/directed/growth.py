"""Places whose integers a rule or reference counts up to: a loop, or so many outputs. No large ones are tried there.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.growth import Growth
    >>> def halves(call):
    ...     return [part // 2 for part in [call.args[0][0]] * call.args[1]]
    >>> growth = Growth([halves])
    >>> [growth.allows(Call((Input((n,)), k))) for n, k in ((9, 3), (2**31, 3), (9, 2**31), (9, 500))]
    [True, True, False, True]

The call is made twice with its large integers lowered, once to a larger value than the other time. Where more lines run
or more comes out for the larger, the work grows with the integer. What C does in a loop (`sum(range(n))`) runs no line:
an integer that Python takes as a number when it is a symbol is large up to `COUNTABLE` only, unless the function names
nothing that could count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.events import Event, Specialized
from shapes.testing.calls import Call
from shapes.testing.directed.integers import Path, Place, places_of, with_values
from shapes.testing.directed.questions import observed
from solver.terms.expr import Atom

LARGE: Final = 512
"""Integers up to this are tried anyway."""
COUNTABLE: Final = 1 << 20
"""Integers up to this are tried where C alone may count up to them."""
PROBED: Final = (64, 2048)
LINES: Final = 512
PARTS: Final = 512
"""The numbers of lines and of results by which the larger probe may exceed the smaller one."""
ENGINE: Final = ("shapes.", "solver.")
"""Modules whose lines are not counted: what the engine runs depends on what it has kept."""

Symbolic = Callable[[ShapeEnv, Call], object]


class Growth:
    """Functions of calls, and the places with which their work grows; `symbolic` are those that run on symbols, too."""

    def __init__(self, functions: Sequence[Callable[[Call], object]], symbolic: Sequence[Symbolic] = ()) -> None:
        self.functions, self.symbolic = tuple(functions), tuple(symbolic)
        self.known: dict[tuple[object, ...], bool] = {}
        self.counted: dict[tuple[object, ...], bool] = {}

    def allows(self, call: Call) -> bool:
        """Return True if no large integer of a call makes for large work."""
        places = places_of(call)
        large = [place for place in places if abs(place.value) > LARGE]
        if not large:
            return True
        key = (*[(place.path, place.value < 0) for place in large], len(places))
        if key not in self.known:
            works = [_works(function, call, large) for function in self.functions]
            if any(high[0] - low[0] > LINES or high[1] - low[1] > PARTS for low, high in works):
                self.known[key] = False
            elif all(low[2] and high[2] for low, high in works):
                self.known[key] = True
            # else refused before any work: other small integers may be accepted
        if not self.known.get(key, True):
            return False
        return not self._counts([place for place in large if abs(place.value) > COUNTABLE], call)

    def _counts(self, large: list[Place], call: Call) -> bool:
        """Return True if a function may count up to one of these integers."""
        if not large:
            return False
        paths = frozenset([place.path for place in large])
        key = (paths, len(places_of(call)))
        if key not in self.counted:
            lowered = _lowered(call, large, PROBED[0])
            self.counted[key] = any(paths & taken(function, lowered, paths) for function in self.symbolic)
        return self.counted[key]


def taken(function: Symbolic, call: Call, paths: frozenset[Path]) -> frozenset[Path]:
    """The places whose integers a function takes as numbers, or in a term that it takes as a number."""
    atoms: set[Atom] = set()

    def notice(event: Event) -> None:
        if isinstance(event, Specialized):
            atoms.update(event.expr.symbols)

    def noticed(env: ShapeEnv, given: Call) -> object:
        stop = env.listen(notice)
        try:
            return function(env, given)
        finally:
            stop()

    run = observed(call, paths.__contains__, noticed)
    return frozenset([path for path, atom in run.symbols.items() if atom in atoms])


Work = tuple[int, int, bool]


def _works(function: Callable[[Call], object], call: Call, large: list[Place]) -> tuple[Work, Work]:
    """The work at the two probes."""
    low, high = PROBED
    return _work(function, _lowered(call, large, low)), _work(function, _lowered(call, large, high))


def _lowered(call: Call, large: list[Place], value: int) -> Call:
    return with_values(call, {place.path: value if place.value > 0 else -value for place in large})


def _work(function: Callable[[Call], object], call: Call) -> Work:
    """The lines that run when caches are warm, the parts of the result; True if anything came out."""
    lines = 0

    def count(frame: FrameType, event: str, arg: object) -> object:
        nonlocal lines
        if frame.f_globals.get("__name__", "").startswith(ENGINE):
            return None
        lines += event == "line"
        return count

    result = _quietly(function, call)
    tracing = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        _quietly(function, call)
    finally:
        sys.settrace(tracing)
    return lines, _parts(result), result is not None


def _parts(result: object) -> int:
    """The outputs and axes of a result."""
    return sum([1 + _parts(one) for one in result]) if isinstance(result, tuple | list) else 0


def _quietly(function: Callable[[Call], object], call: Call) -> object:
    try:
        return function(call)
    except Exception:
        return None
