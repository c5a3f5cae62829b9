"""Profiling: the share of a compiled function's calls that its graphs cover, in operators and in time.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile
    ... def f(x):
    ...     y = x.relu().exp()
    ...     return y * 2 if y.sum() > 0 else y
    >>> out = f(torch.randn(8))
    >>> with f.timed() as times:
    ...     for _ in range(4):
    ...         out = f(torch.randn(8))
    >>> times.calls, times.operators, times.captured, 0 < times.share_of_time < 1
    (4, 24, 20, True)

It costs nothing outside of `timed()`: the look-ups of graphs are replaced inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from frontends.pytorch.variant import Variant

if TYPE_CHECKING:
    from frontends.pytorch.variants.compiled_graph import CompiledGraph


@dataclass(slots=True)
class Times:
    """The measurements.

    Attributes:
        operators: the number of executed operators, of which a graph break counts as one; `captured` of them in graphs.
        seconds: the time of the calls, including compilation, without backward passes.
        in_graphs: the time spent in graphs.
    """

    calls: int = 0
    operators: int = 0
    captured: int = 0
    seconds: float = 0.0
    in_graphs: float = 0.0

    @property
    def share_of_time(self) -> float:
        return self.in_graphs / self.seconds if self.seconds else 0.0

    def call(self, call: Callable[..., object], *given: object) -> object:
        """Measure a whole call."""
        started = time.perf_counter()
        try:
            return call(*given)
        finally:
            self.calls += 1
            self.seconds += time.perf_counter() - started

    @contextmanager
    def graph(self, graph: CompiledGraph, breaks: int) -> Iterator[None]:
        """Measure the runs of a graph inside the block; `breaks` counts the graph breaks at its end."""
        entry, lookup = graph.entry, graph.lookup
        operators = sum(map(operators_of, graph.variants[:1]))

        def measured(args: Sequence[Any]) -> Callable[[Sequence[Any]], Any] | None:
            call = lookup(args)
            return None if call is None else run(call)

        def run(call: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
            def timed(args: Sequence[Any]) -> Any:
                started = time.perf_counter()
                try:
                    return call(args)
                finally:
                    self.in_graphs += time.perf_counter() - started
                    self.operators += operators + breaks
                    self.captured += operators

            return timed

        graph.entry, graph.lookup = None, measured
        try:
            yield
        finally:
            graph.entry, graph.lookup = entry, lookup


def operators_of(variant: Variant) -> int:
    """The number of operators in a variant's graph."""
    return sum([isinstance(node.target, torch._ops.OpOverload) for node in variant.graph.graph.nodes])
