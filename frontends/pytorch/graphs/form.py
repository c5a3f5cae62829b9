"""A program as operators between inputs and outputs, which may be written to.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> captured = trace(lambda x, y: x.add_(y).relu(), (torch.ones(3), torch.ones(3)))
    >>> form = captured.form(captured.recording.operations, captured.outputs, captured.runtime_asserts)
    >>> [name for name, _ in form.inputs], [str(each.target) for each in form.operations]
    (['x', 'y'], ['aten.add_.Tensor', 'aten.relu.default'])
"""

from __future__ import annotations

from collections import Counter
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
        for name, result in self.inputs:
            builder.tensor(builder.graph.placeholder(name), result)
        for atom in self.numbers:
            builder.number(atom, is_float=atom in self.floats)
        for operation in self.operations:
            builder.operation(operation)
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
        return sharing([*tensors[: len(self.inputs)], *[each.constant for each in self.constants]], self._written)

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


def sharing(tensors: Sequence[torch.Tensor], written: Collection[int]) -> bool:
    """Return True if a written tensor, by index, may share an element with another one, or hold one of its own twice.

    The test of tensors that C does not read: it compares their storages.
    """
    storages = [tensor.untyped_storage().data_ptr() for tensor in tensors]
    users = Counter(storages)
    return any(
        users[storages[place]] > 1 or not torch.ops.aten.is_non_overlapping_and_dense(tensors[place])
        for place in written
    )
