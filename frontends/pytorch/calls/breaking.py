"""Calls that cannot be one graph: run by Dynamo where that agrees with eager torch, otherwise with graph breaks.

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

The error that ended the trace decides whether a function is given to Dynamo (`CAPTURED`); all of its captured state
must be guardable. If Dynamo then meets something that it is not trusted with, the function runs with graph breaks from
its next call on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from backends.backend import AnyBackend
from frontends.pytorch.breaks.breaks import Broken
from frontends.pytorch.calls.dynamism import Policy
from frontends.pytorch.errors import Written
from shapes.errors import UndecidedGuard

CAPTURED: Final[Mapping[type[Exception], str]] = {
    UndecidedGuard: "a branch or a loop on data, or a number that Python takes out of data",
    Written: "a line that is printed",
}
"""The errors for which a function is given to Dynamo. For the others Dynamo was seen to differ from eager torch without
an error: NumPy scalars, mutated state that outlives the call, generators, `eval`, Python's random numbers, and log
records, which name the running function."""

TOLD: Final = frozenset(
    ("breaks", "captured", "graphs", "in_graphs", "kernels", "operators", "table", "variants"),
)
"""The attributes of each way to run a program with graph breaks; `variants` ran between two breaks."""

captures: Final[list[Callable[..., Any]]] = []
"""Constructors of programs run by Dynamo: `frontends.pytorch.dynamo.captured` registers itself here."""
log: Final = logging.getLogger("symshape")


class Breaking:
    """A program that is no graph.

    Attributes:
        way: runs it, and describes it.
        is_captured: whether that is Dynamo.
    """

    def __init__(
        self, fn: Callable[..., object], backend: AnyBackend, named: str, dynamic: object, policy: Policy
    ) -> None:
        self.fn = fn
        self._broken = partial(Broken, fn, backend, policy.withheld)
        self._options = {"backend": named, "dynamic": dynamic, "policy": policy}
        self.way: Any = None
        self.is_captured = False

    def choose(self, error: Exception | None, *, is_told: bool) -> None:
        """Choose how to run the program from the error that ended its trace; `is_told`: all of its captured state is
        guarded. A program with graph breaks stays so."""
        is_fit = is_told and type(error) in CAPTURED
        if self.way is None and is_fit:
            self.way = next(filter(None, [capture(self.fn, **self._options) for capture in captures]), None)
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
        """The attributes of the way in `TOLD`, such as `breaks` and `graphs`."""
        if name in TOLD:
            return getattr(self.way, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")
