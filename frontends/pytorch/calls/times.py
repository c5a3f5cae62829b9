"""Profiling: the share of a compiled function's calls that its graphs cover, in operators and in time.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile
    ... def f(x):
    ...     y = x.relu().exp()
    ...     return y * 2 if y.sum() > 0 else y
    >>> with f.timed() as times:
    ...     for _ in range(4):
    ...         out = f(torch.randn(8))
    >>> times.calls, times.operators, times.captured, 0 < times.share_of_time < 1
    (4, 24, 20, True)

It costs nothing outside of `timed()`: the look-up function is replaced inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from frontends.pytorch.calls.argument_unpacking import Call
from frontends.pytorch.calls.breaking import Breaking
from frontends.pytorch.python.torch_calls import Arguments, Function, Keywords
from frontends.pytorch.running import Run
from frontends.pytorch.variant import Variant


@dataclass(slots=True)
class Times:
    """The measurements.

    Attributes:
        operators: the number of executed operators; `captured` of them in graphs, with graph breaks from the second
            run on.
        seconds: the time of the calls, including tracing and compilation, without backward passes.
        in_graphs: the time spent in graphs.
    """

    calls: int = 0
    operators: int = 0
    captured: int = 0
    seconds: float = 0.0
    in_graphs: float = 0.0
    _known: dict[Call, Call] = field(default_factory=dict, repr=False)

    @property
    def share_of_time(self) -> float:
        return self.in_graphs / self.seconds if self.seconds else 0.0

    def counted(
        self,
        find: Callable[[Sequence[object], Mapping[str, object]], Call],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:
        """Measure a whole call."""
        started = time.perf_counter()
        try:
            call = find(args, kwargs)
            measured = self._known.get(call)
            if measured is None:
                measured = self._known[call] = self._measured(call)
            return measured(args, kwargs)
        finally:
            self.calls += 1
            self.seconds += time.perf_counter() - started

    def _measured(self, call: Call) -> Call:
        if isinstance(call, FunctionType):
            return self._of_variant(call)
        owner = getattr(call, "__self__", None)
        return self._of_broken(call) if isinstance(owner, Breaking) else self._of_plain(call)

    def _of_variant(self, call: FunctionType) -> Call:
        """The call of a variant with a measured graph."""
        scope = call.__globals__
        run: Run = scope["_run"]
        operators = operators_of(scope["_variant"])

        def measured(values: Sequence[object]) -> Sequence[object]:
            started = time.perf_counter()
            try:
                return run(values)
            finally:
                self.in_graphs += time.perf_counter() - started
                self.operators += operators
                self.captured += operators

        return FunctionType(call.__code__, {**scope, "_run": measured})

    def _of_broken(self, call: Any) -> Call:  # a method of `Breaking`
        """Measure the graphs of a call with graph breaks."""
        broken: Breaking = call.__self__

        def measured(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
            before = broken.operators, broken.captured, broken.in_graphs
            try:
                return call(args, kwargs)
            finally:
                self.operators += broken.operators - before[0]
                self.captured += broken.captured - before[1]
                self.in_graphs += broken.in_graphs - before[2]

        return measured

    def _of_plain(self, call: Call) -> Call:
        """Measure an eager call, counting operators individually, which has overhead."""

        def measured(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
            with _Counting() as counting:
                found = call(args, kwargs)
            self.operators += counting.operators
            return found

        return measured


class _Counting(TorchDispatchMode):
    """Counts operators."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = 0

    def __torch_dispatch__(
        self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        self.operators += 1
        return func(*args, **kwargs or {})


def operators_of(variant: Variant) -> int:
    """The number of operators in a variant's graph."""
    return sum([isinstance(node.target, torch._ops.OpOverload) for node in variant.graph.graph.nodes])
