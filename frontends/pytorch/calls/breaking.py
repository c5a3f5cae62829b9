"""Calls that can not be one graph: run by Dynamo where that agrees with eager torch, and otherwise with graph breaks.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> def f(x):
    ...     y = torch.relu(x)
    ...     return y * 2 if y.sum() > 0 else y
    >>> def g(x):
    ...     y = torch.relu(x)
    ...     return y * 2 if y.numpy().sum() > 0 else y
    >>> compiled = compile(f), compile(g)
    >>> [each(torch.ones(2)).tolist() for each in compiled], [each.broken.is_captured for each in compiled]
    ([[2.0, 2.0], [2.0, 2.0]], [True, False])

A function is given to Dynamo for what its trace was ended by (`CAPTURED`), if all that it reads tells of a change. What
Dynamo comes upon then and is not trusted with it tells, and the function runs with graph breaks from its next call on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from frontends.pytorch.breaks.breaks import Broken
from frontends.pytorch.errors import Written
from shapes.errors import UndecidedGuard

if TYPE_CHECKING:
    from backends.backend import AnyBackend
    from frontends.pytorch.calls.dynamism import Policy

CAPTURED: Final[Mapping[type[Exception], str]] = {
    UndecidedGuard: "a branch or a loop on data, or a number that Python takes out of data",
    Written: "a line that is printed",
}
"""What ends a trace of a function that Dynamo is given. What ends all others it was seen to do otherwise than eager
torch, silently: numbers of NumPy, what changes and outlives the call, generators, `eval`, random numbers of Python, and
what is logged, in which the function is named that runs."""

TOLD: Final = frozenset(
    ("breaks", "captured", "graphs", "in_graphs", "kernels", "operators", "table", "variants"),
)
"""What each way to run a program with graph breaks says of it; `variants` are what ran between two breaks."""

captures: Final[list[Callable[..., Any]]] = []
"""What makes a program that Dynamo runs: `frontends.pytorch.dynamo.captured` puts itself here."""
log: Final = logging.getLogger("symshape")


class Breaking:
    """A program that is no graph.

    Attributes:
        way: what runs it, which says what became of it.
        is_captured: whether that is Dynamo.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        backend: AnyBackend,
        *,
        named: str = "eager",
        dynamic: object = None,
        policy: Policy | None = None,
        withheld: Collection[str] = (),
    ) -> None:
        self.fn = fn
        self._broken: Callable[[], Broken] = lambda: Broken(fn, backend, withheld)
        self._captured: Callable[[], Any] = lambda: [
            make(fn, backend=named, dynamic=dynamic, policy=policy) for make in captures
        ]
        self.way: Any = None
        self.is_captured = False

    def choose(self, error: Exception | None, *, is_told: bool) -> None:
        """Choose the way for what has ended a trace; `is_told` says that all that the function reads tells of a change.
        Once it is with graph breaks, it stays so."""
        is_fit = is_told and type(error) in CAPTURED
        if self.way is None and is_fit:
            self.way = next(filter(None, self._captured()), None)
            self.is_captured = self.way is not None
        if self.way is None or not is_fit:
            self._run_with_breaks()

    def _run_with_breaks(self) -> None:
        if not isinstance(self.way, Broken):
            self.way, self.is_captured = self._broken(), False

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Run the program once."""
        way = self.way
        if self.is_captured:
            call = way.call
            if call is not None:
                return call(*args, **kwargs)
            if not way.refused:
                return way.run(args, kwargs)
            log.info("%s is not left to Dynamo: %s", getattr(self.fn, "__name__", "a module"), self.way.refused)
            self._run_with_breaks()
        return self.way.run(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """What the way tells of it: `breaks`, `graphs` and what else is in `TOLD`."""
        if name in TOLD:
            return getattr(self.way, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")


__all__ = ["CAPTURED", "Breaking", "captures"]
