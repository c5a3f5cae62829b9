"""Programs that can not be one graph: Python runs on every call, the operators between breaks run as captured graphs.

    >>> import torch
    >>> from frontends.pytorch.breaks.breaks import Broken
    >>> def f(x):
    ...     y = torch.relu(x).sum(-1)
    ...     if y.max().item() > 1:
    ...         y = y / y.max()
    ...     return y.view(-1, 1) * x
    >>> broken = Broken(f)
    >>> for rows in (3, 3, 7, 1):
    ...     x = torch.rand(rows, 4) + 1
    ...     assert torch.equal(broken(x), f(x))
    >>> print(broken.table())
    1 place where the graph breaks, 4 times; 2 graphs; 65 % of 32 operators in captured graphs
      4 x item()       <doctest frontends.pytorch.breaks.breaks[2]>:3 in f

Operators are queued, and run when a value is needed: all of them at once, as one graph that is found in the tree of
`segments`. Whatever is out of the ordinary runs the queue and then by itself, as eager torch would. A program run so
is right because it is run: what Python does, it does on every call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Final

from backends import eager
from frontends.pytorch.breaks.kernels import Kernels
from frontends.pytorch.breaks.segments import Step, Stretches, one_after_the_other
from frontends.pytorch.breaks.session import Session

if TYPE_CHECKING:
    import torch

    from frontends.pytorch.breaks.pending import Kind
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


class Broken:
    """A program that is run with breaks.

    Attributes:
        breaks: the places where it leaves the graph, the most frequent first.
        operators: how many operators its calls have run; `captured` of them in graphs of earlier calls.
        last: the same two numbers of the last call.
        in_graphs: the seconds that graphs took.
    """

    def __init__(self, fn: Callable[..., object], backend: ModuleType = eager, withheld: Collection[str] = ()) -> None:
        """Captured graphs run by a backend, whose kernels are made without asking `withheld` kinds of questions."""
        self.fn = fn
        self.stretches: Final = Stretches(
            one_after_the_other if backend is eager else lambda graph: Kernels(graph, backend, withheld)
        )
        self.operators = 0
        self.captured = 0
        self.in_graphs = 0.0
        self.calls = 0
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

    @property
    def graphs(self) -> list[torch.fx.GraphModule]:
        """The captured graphs."""
        return [segment.graph for segment in self.stretches.segments]

    @property
    def kernels(self) -> list[Kernels]:
        """What the captured graphs run as, where a backend makes kernels."""
        return [segment.run for segment in self.stretches.segments if isinstance(segment.run, Kernels)]

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.run(args, kwargs)

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Run the program once: its Python as it is, its operators in captured graphs as far as they are known."""
        session = Session(self)
        try:
            with session.running():
                returned = self.fn(*args, **kwargs)
        finally:
            session.finish()
        return session.left(returned)

    def table(self) -> str:
        """The breaks as text."""
        times = sum(each.times for each in self._breaks.values())
        count = len(self._breaks)
        share = 100 * self.captured // max(self.operators, 1)
        made = sum(bool(each.variants) for each in self.kernels)
        graphs = f"{len(self.graphs)} graphs" + (f", {made} of them kernels" if made else "")
        head = (
            f"{count} place{'s' * (count != 1)} where the graph breaks, {times} times; {graphs};"
            f" {share} % of {self.operators} operators in captured graphs"
        )
        return "\n".join([head, *[f"  {each}" for each in self.breaks]])

    def broke(self, cause: str, place: Origin | None, before: int, captured: int) -> None:
        """Count a break."""
        key = (cause, str(place))
        found = self._breaks.get(key)
        if found is None:
            found = self._breaks[key] = Break(place, cause)
        found.times += 1
        found.operators_before += before
        found.operators_captured += captured


__all__ = ["Break", "Broken"]
