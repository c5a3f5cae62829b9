"""A captured segment compiled by a backend: traced on its second run, with symbolic sizes and numbers.

    >>> import torch
    >>> from backends import cpu
    >>> from frontends.pytorch.breaks.kernels import Kernels
    >>> from frontends.pytorch.breaks.kinds import Kind
    >>> graph = torch.fx.symbolic_trace(lambda x, factor: [torch.ops.aten.relu.default(x), x * factor])
    >>> stretch = Kernels(graph, cpu)
    >>> for rows in (2, 3, 5):
    ...     x = torch.randn(rows, 4)
    ...     kind = Kind((tuple(x.shape), x.stride(), 0, x.dtype, x.device))
    ...     first, second = stretch([kind], [x, rows * 0.5])
    ...     assert torch.equal(first, x.relu()) and torch.equal(second, x * (rows * 0.5))
    >>> len(stretch.variants)
    1

A segment that runs once is not worth compiling, so its first run is operator by operator. Its variants depend on its
tensors' metadata and their own guards; a segment that cannot be traced keeps running operator by operator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from threading import RLock, Thread
from typing import Any, Final, TypeVar

import torch

from backends import eager
from backends.backend import AnyBackend
from frontends.pytorch.breaks.kinds import Kind
from frontends.pytorch.recording.inputs import LARGEST
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Variant
from shapes.guards.arguments import Source

Run = Callable[[Sequence[object]], Sequence[torch.Tensor]]
Made = TypeVar("Made")
MOST_VARIANTS: Final = 8
"""The limit of variants of a segment; calls that none accepts run operator by operator."""
MOST_KNOWN: Final = 4096
log: Final = logging.getLogger("symshape")


class Kernels:
    """One segment.

    Attributes:
        variants: in the order of their traces.
        note: why some calls run operator by operator, or empty.
    """

    def __init__(self, graph: torch.fx.GraphModule, backend: AnyBackend, withheld: Collection[str] = ()) -> None:
        self.variants: list[Variant] = []
        self.note = ""
        self._graph = graph
        self._backend = backend
        self._withheld = withheld
        self._one_by_one = eager.runner(graph)
        self._is_new = True
        self._known: dict[tuple[object, ...], Run] = {}
        """What runs tensors of these kinds and these integers."""
        self._accepting: dict[tuple[object, ...], list[tuple[Callable[..., bool], Run]]] = {}
        """The variants for tensors of these dtypes and ranks, each with its check."""
        self._lock = RLock()

    def __call__(self, kinds: Sequence[Kind], values: Sequence[object]) -> Sequence[torch.Tensor]:
        """Run the segment for tensors with this metadata, followed by its numbers."""
        if self._is_new:
            self._is_new = False
            return self._one_by_one(values)
        numbers = values[len(kinds) :]
        key = (*kinds, *[float if type(number) is float else number for number in numbers])
        run = self._known.get(key)
        if run is None:
            with self._lock:
                run = self._found(kinds, values)
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[key] = run
        return run(values)

    def _found(self, kinds: Sequence[Kind], values: Sequence[object]) -> Run:
        """A variant that accepts these, traced if necessary."""
        given = [*[(kind.dtype, kind.device, len(kind.sizes)) for kind in kinds], *map(type, values[len(kinds) :])]
        given += [value.is_contiguous() for value in values if isinstance(value, torch.Tensor)]
        accepting = self._accepting.setdefault(tuple(given), [])
        for accepts, run in accepting:
            if accepts(*values):
                return run
        if len(self.variants) >= MOST_VARIANTS:
            self.note = f"it has {MOST_VARIANTS} variants already"
            return self._one_by_one
        try:
            accepts, run = in_own_thread(lambda: self._traced(values))
        except Exception as error:
            self.note = str(error).partition("\n")[0] or type(error).__name__
            log.warning("a stretch between breaks runs operator by operator: %s", self.note)
            return self._one_by_one
        accepting.append((accepts, run))
        return run

    def _traced(self, values: Sequence[object]) -> tuple[Callable[..., bool], Run]:
        """Trace a variant: its check and its callable."""
        floats = [place for place, value in enumerate(values) if type(value) is float]

        def program(*given: Any) -> object:
            opened = list(given)
            for place in floats:
                opened[place] = opened[place].item()
            return self._graph.forward(*opened)

        held = [value.detach() if isinstance(value, torch.Tensor) else value for value in with_tensors(values, floats)]
        variant = trace(program, held, dynamic=lambda name, axis, size: True)
        names = [f"given_{place}" for place in range(len(values))]
        sources: dict[str, Source] = {}
        sizes: set[str] = set()
        indices = iter(variant.places)
        for described, place in zip(variant.inputs, indices):
            sizes.update([symbol for symbol, _ in described.symbols])
            sources.update([(symbol, (names[place], *path)) for symbol, path in described.symbols])
        sources.update([(number.symbol, (names[place],)) for number, place in zip(variant.integers, indices)])
        check = variant.env.compile_guards(sources, arguments=names, known=dict.fromkeys(sizes, (0, LARGEST)))
        variant.cause = "between breaks"
        # version counters were incremented when the writes were queued
        variant.written = ()
        run, order = variant.run_by(self._backend, self._withheld), variant.places
        self.variants.append(variant)
        if not floats and order == tuple(range(len(values))):
            return check, run

        def reordered(values: Sequence[object]) -> Sequence[torch.Tensor]:
            given = with_tensors(values, floats)
            return run([given[place] for place in order])

        return check, reordered


def with_tensors(values: Sequence[object], floats: Sequence[int]) -> list[object]:
    """Values with floats as tensors, which a variant accepts for any value."""
    given = list(values)
    for place in floats:
        given[place] = torch.scalar_tensor(given[place], dtype=torch.float64)
    return given


def in_own_thread(function: Callable[[], Made]) -> Made:
    """Call a function in a new thread, without active modes or excluded dispatch keys."""
    # an executor takes no work once the main thread has ended
    result: Future[Made] = Future()

    def target() -> None:
        try:
            with torch.no_grad():
                result.set_result(function())
        except BaseException as error:
            result.set_exception(error)

    thread = Thread(target=target, name="tracing")
    thread.start()
    thread.join()
    return result.result()
