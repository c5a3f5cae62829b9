"""What calls with graph breaks cache: where it broke, what ran in graphs, what operators gave.

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
from typing import TYPE_CHECKING, Final

from frontends.pytorch.breaks.segments import Compile, Step, Stretches

if TYPE_CHECKING:
    from frontends.pytorch.breaks.kinds import Kind
    from shapes.origin import Origin


@dataclass(slots=True)
class Break:
    """A place where a program leaves the graph. A row of the table of `report()`."""

    origin: Origin | None
    cause: str
    times: int = 0
    operators_before: int = 0
    """How many operators were waiting there, in all calls."""
    operators_captured: int = 0
    """How many of those ran in a graph that an earlier call had captured."""

    def __str__(self) -> str:
        return f"{self.times} x {self.cause:12s} {self.origin or 'place not known'}"


class Remembered:
    """What sessions of one program leave to later ones.

    Attributes:
        breaks: the places where it leaves the graph, the most frequent first.
        operators: how many operators its calls have run; `captured` of them in graphs of earlier calls.
        last: the same two numbers of the last call.
        in_graphs: the seconds that graphs took.
    """

    def __init__(self, compile: Compile) -> None:
        self.stretches: Final = Stretches(compile)
        self.operators = 0
        self.captured = 0
        self.in_graphs = 0.0
        self.calls = 0
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
