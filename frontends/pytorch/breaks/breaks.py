"""Programs with graph breaks: Python runs on every call, the operators between breaks run as captured graphs.

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

Evaluation is lazy: operators are queued until a value is needed, and then run as one graph, found in the prefix tree of
`segments`. Anything unusual first flushes the queue and then runs eagerly. This is correct by construction: all of the
program's Python runs on every call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from backends import eager
from backends.backend import AnyBackend, emits_kernels
from frontends.pytorch.breaks.kernels import Kernels
from frontends.pytorch.breaks.remembered import Break, Remembered
from frontends.pytorch.breaks.segments import one_after_the_other
from frontends.pytorch.breaks.session import Session
from frontends.pytorch.python.generators import looks_at_states
from frontends.pytorch.variant import Variant


class Broken(Remembered):
    """A program that runs with graph breaks."""

    def __init__(self, fn: Callable[..., object], backend: AnyBackend = eager, withheld: Collection[str] = ()) -> None:
        """Captured graphs run by a backend, without asking the `withheld` kinds of questions."""
        compiles = emits_kernels(backend)
        super().__init__((lambda graph: Kernels(graph, backend, withheld)) if compiles else one_after_the_other)
        self.fn = fn
        self.is_exact = looks_at_states(fn)

    @property
    def graphs(self) -> list[torch.fx.GraphModule]:
        """The captured graphs."""
        return [segment.graph for segment in self.stretches.segments]

    @property
    def variants(self) -> list[Variant]:
        """The variants of the captured graphs."""
        return [variant for each in self.kernels for variant in each.variants]

    @property
    def kernels(self) -> list[Kernels]:
        """The kernels of the captured graphs, if a backend makes any."""
        return [segment.run for segment in self.stretches.segments if isinstance(segment.run, Kernels)]

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.run(args, kwargs)

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Run the program once: its Python unchanged, its operators in captured graphs as far as they are known."""
        session = Session(self)
        try:
            with session.running():
                returned = self.fn(*args, **kwargs)
        finally:
            session.finish()
        return session.left(returned)

    def table(self) -> str:
        """The breaks as text."""
        made = sum([bool(each.variants) for each in self.kernels])
        return table(self.breaks, len(self.graphs), made, self.captured, self.operators)


def table(breaks: Sequence[Break], graphs: int, made: int, captured: int, operators: int) -> str:
    """Breaks as text: `made` of the graphs run as kernels."""
    times = sum([each.times for each in breaks])
    share = 100 * captured // max(operators, 1)
    shown = f"{graphs} graph{'s' * (graphs != 1)}" + (f", {made} of them kernels" if made else "")
    head = (
        f"{len(breaks)} place{'s' * (len(breaks) != 1)} where the graph breaks, {times} times; {shown};"
        f" {share} % of {operators} operators in captured graphs"
    )
    return "\n".join([head, *[f"  {each}" for each in breaks]])
