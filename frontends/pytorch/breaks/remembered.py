"""The state kept across calls with graph breaks: breaks, captured graphs, inferred results.

    >>> from frontends.pytorch.breaks.remembered import Remembered
    >>> from frontends.pytorch.breaks.segments import one_after_the_other
    >>> remembered = Remembered(one_after_the_other)
    >>> for place in (None, None):
    ...     remembered.broke("item()", place, before=3, captured=0)
    >>> print(*remembered.breaks)
    2 x item()       place not known
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from frontends.pytorch.breaks.kinds import Kind
from frontends.pytorch.breaks.segments import Compile, Step, Stretches
from shapes.origin import Origin


@dataclass(slots=True)
class Break:
    """A source location with a graph break: a row of the table of `report()`."""

    origin: Origin | None
    cause: str
    times: int = 0
    operators_before: int = 0
    """The number of queued operators there, over all calls."""
    operators_captured: int = 0
    """The number of those that ran in a graph captured by an earlier call."""

    def __str__(self) -> str:
        return f"{self.times} x {self.cause:12s} {self.origin or 'place not known'}"


class Remembered:
    """The state that a program's sessions share.

    Attributes:
        breaks: the graph breaks, most frequent first.
        operators: the number of executed operators; `captured` of them in graphs of earlier calls.
        last: the same two numbers for the last call.
        in_graphs: the seconds spent in graphs.
    """

    def __init__(self, compile: Compile) -> None:
        self.stretches: Final = Stretches(compile)
        self.operators = 0
        self.captured = 0
        self.in_graphs = 0.0
        self.is_exact = False
        """Whether the program has to do with the state of a generator, so that what draws numbers does not wait."""
        self.last: tuple[int, int] = (0, 0)
        self.kinds: Final[dict[tuple[object, ...], Kind]] = {}
        self.outcomes: Final[dict[tuple[object, ...], object]] = {}
        self.steps: Final[dict[tuple[object, ...], Step]] = {}
        """Operators with the shapes of their arguments, each once."""
        self.distrusted: Final[set[object]] = set()
        """Operators whose outcome torch's meta function does not tell."""
        self._breaks: dict[tuple[str, str], Break] = {}

    @property
    def breaks(self) -> list[Break]:
        return sorted(self._breaks.values(), key=lambda each: -each.times)

    def broke(self, cause: str, place: Origin | None, before: int, captured: int) -> None:
        """Count a break."""
        key = (cause, str(place))
        found = self._breaks.get(key)
        if found is None:
            found = self._breaks[key] = Break(place, cause)
        found.times += 1
        found.operators_before += before
        found.operators_captured += captured
