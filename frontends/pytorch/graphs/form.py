"""A program as operators between inputs and outputs, which may be written to.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> captured = trace(lambda x, y: x.add_(y).relu(), (torch.ones(3), torch.ones(3)))
    >>> form = captured.form(captured.recording.operations, captured.outputs, captured.runtime_asserts)
    >>> [name for name, _ in form.inputs], [str(each.target) for each in form.operations]
    (['x', 'y'], ['aten.add_.Tensor', 'aten.relu.default'])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import torch

from backends.cpu.launcher import Unavailable, launcher
from frontends.pytorch.graphs.graph import GraphBuilder
from frontends.pytorch.recording.operations import Argument, Operation, results_of
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Atom

if TYPE_CHECKING:
    from shapes.guards.guards import RuntimeAssert

aten: Final = torch.ops.aten


@dataclass(frozen=True)
class Form:
    """A program.

    Attributes:
        inputs: the input tensors with their names.
        numbers: the input symbols, which follow them.
        outputs: results, numbers, symbols and constants.
        checks: runtime conditions on sizes.
        floats: the numbers that are passed as floats, each the symbol of its bits.
    """

    inputs: tuple[tuple[str, Result], ...]
    numbers: tuple[Atom, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[Argument, ...]
    checks: tuple[RuntimeAssert, ...] = ()
    floats: tuple[Atom, ...] = ()

    @cached_property
    def graph(self) -> torch.fx.GraphModule:
        """The program as a graph; None for outputs that it does not return itself."""
        builder = GraphBuilder(self.checks)
        builder.program(self.inputs, self.numbers, self.operations, self.floats)
        returned = [
            builder.sizes.expression(output.expr)
            if isinstance(output, Atom)
            else builder.argument(output) if in_graph(output) else None
            for output in self.outputs
        ]
        return builder.module(returned)

    @cached_property
    def changed(self) -> tuple[Result, ...]:
        """The inputs and constants that a functional form writes at the end."""
        return tuple([each.args[0] for each in self.operations if each.target is aten.copy_.default])

    def overlaps(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Return True if the form may be wrong for these inputs because a mutated one overlaps another.

        Numbers after them are ignored.
        """
        if not self.changed:
            return False
        found = None if self._apart is None else self._apart(tensors)
        if found is not None:
            return not found
        given = [*tensors[: len(self.inputs)], *[each.constant for each in self.constants]]
        return overlapping(given, self._written)

    @cached_property
    def _written(self) -> tuple[int, ...]:
        """The indices of mutated tensors among inputs, then constants."""
        places = {each: place for place, each in enumerate([*[result for _, result in self.inputs], *self.constants])}
        return tuple([places[each] for each in self.changed])

    @cached_property
    def _apart(self) -> Callable[[Sequence[torch.Tensor]], bool | None] | None:
        """The overlap test in C, cached by data pointers: 0.125 us for ten tensors."""
        results = [*[result for _, result in self.inputs], *self.constants]
        if any(each.metadata is None or each.metadata.device.type != "cpu" for each in results):
            return None
        found = launcher()
        if isinstance(found, Unavailable):
            return None
        return found.Apart(len(self.inputs), tuple([each.constant for each in self.constants]), self._written)

    @cached_property
    def constants(self) -> tuple[Result, ...]:
        """The program's constant tensors."""
        used = results_of([*[each.arguments for each in self.operations], self.outputs])
        return tuple(dict.fromkeys([each for each in used if each.constant is not None]))


def in_graph(output: object) -> bool:
    """Return True if the graph itself returns this output."""
    return type(output) in (Result, Node, int, float, bool, str, type(None))


def overlapping(tensors: Sequence[torch.Tensor], written: Collection[int]) -> bool:
    """Return True if the memory of a written tensor, by index, may hold an element of another tensor, or one of its own
    twice.

    Address ranges are compared, so interleaved tensors count as overlapping. A sweep in the order of their starts keeps
    the furthest end.
    """
    ranges: list[tuple[int, int, bool]] = []
    for place, tensor in enumerate(tensors):
        is_written = place in written
        if is_written and not tensor.is_contiguous() and _overlaps_itself(tensor):
            return True
        if tensor.numel():
            ranges.append((*_range(tensor), is_written))
    any_end = written_end = 0
    for start, end, is_written in sorted(ranges):
        if start < written_end or (is_written and start < any_end):
            return True
        any_end = max(any_end, end)
        written_end = max(written_end, end) if is_written else written_end
    return False


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Return True if a tensor may overlap itself: it does not if each stride exceeds the extent of all inner axes."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    reach = sum([(size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())])
    return start, start + (reach + 1) * tensor.itemsize
