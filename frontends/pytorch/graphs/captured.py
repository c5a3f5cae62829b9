"""A captured program: inputs, outputs, recording and graph.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> captured = trace(lambda x, n: (x * n, n), (torch.ones(3), 2), dynamic=lambda name, axis, size: True)
    >>> [each.name for each in captured.inputs], captured.number_atoms, captured.outputs
    (['x'], (n,), (%1, n))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.graph import is_symbol
from frontends.pytorch.recording.operations import Operation, Recording, has_effects, results_of
from frontends.pytorch.symbolic.metadata import Kinds
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from frontends.pytorch.symbolic.values import symbols_of
from solver.terms.expr import Atom

if TYPE_CHECKING:
    from frontends.pytorch.graphs.outputs import Outputs
    from frontends.pytorch.recording.inputs import Input, Number
    from shapes.env import ShapeEnv
    from shapes.guards.guards import RuntimeAssert


@dataclass(frozen=True, slots=True)
class Joint:
    """The backward part of a recording.

    Attributes:
        differentiable: the distinct outputs with a gradient.
        tangents: their gradients, the backward's inputs.
        leaves: the inputs and constants whose gradients are computed, in the order of `gradients`.
    """

    differentiable: tuple[Result, ...]
    tangents: tuple[Result, ...]
    leaves: tuple[Result, ...]
    gradients: tuple[Result | None, ...]


@dataclass(eq=False, repr=False, kw_only=True)
class Captured:
    """A recorded program.

    Attributes:
        env: the facts about its sizes.
        inputs: the distinct tensors among the arguments, in order.
        integers: the integers and floats among the arguments.
        outputs: the flat results.
        with_gradient: which outputs have a gradient.
        joint: the backward, if it was recorded.
        relations: the aliasing of outputs, with each other and with the arguments.
        bases: the bases of outputs that are views, which the graph of a program with gradients returns after them.
        written: the tensors that it writes, inputs by index, each with the number of writes.
        kinds: the metadata of its tensors.
    """

    env: ShapeEnv
    kinds: Kinds
    recording: Recording
    inputs: tuple[Input, ...]
    outputs: tuple[object, ...]
    with_gradient: tuple[bool, ...]
    integers: tuple[Number, ...]
    joint: Joint | None = None
    relations: Outputs | None = None
    bases: tuple[object, ...] = ()
    written: tuple[tuple[int | torch.Tensor, int], ...] = ()

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """The `integers` that the graph reads, its inputs after the tensors."""
        return tuple([each for each in self.integers if each.is_read])

    @property
    def runtime_asserts(self) -> tuple[RuntimeAssert, ...]:
        return self.env.runtime_asserts()

    @cached_property
    def graph(self) -> torch.fx.GraphModule:
        """The graph of the forward, built lazily; it returns a list of the outputs that are tensors or sizes."""
        forward = [each for each in self.recording.operations if not each.backward]
        _, deferred = self.told_later
        checks = [check for check in self.runtime_asserts if check not in deferred]
        return self.form(forward, self.outputs, checks).graph

    @property
    def told_later(self) -> tuple[frozenset[Atom], list[RuntimeAssert]]:
        """The unbacked numbers and sizes of the backward, such as the number of selected elements of a gradient, and
        the checks that need them."""
        given = [self.env.names[symbol].symbols for each in self.inputs for symbol, _ in each.symbols]
        ran = self.recording.operations
        forward, backward = [told_by([each for each in ran if each.backward is is_later]) for is_later in (False, True)]
        later = frozenset(backward.difference(forward, self.number_atoms, *given))
        return later, [check for check in self.runtime_asserts if not later.isdisjoint(check.prop.symbols)]

    def form(
        self, operations: Sequence[Operation], outputs: Sequence[object], checks: Sequence[RuntimeAssert]
    ) -> Form:
        """These operators with the same inputs and these outputs and checks, without unused operators."""
        checked = [check.prop.symbols for check in checks]
        left = unused_removed(operations, (outputs, checked))
        inputs = tuple([(each.name, each.result) for each in self.inputs])
        names = self.env.names
        floats = tuple([atom for each in self.numbers if each.is_float for atom in names[each.symbol].symbols])
        return Form(inputs, self.number_atoms, tuple(left), tuple(outputs), tuple(checks), floats)

    @property
    def results(self) -> list[Result | Node]:
        """The distinct tensors and numbers among the outputs and their bases."""
        return [*dict.fromkeys([each for each in (*self.outputs, *self.bases) if isinstance(each, Result | Node)])]

    @property
    def number_atoms(self) -> tuple[Atom, ...]:
        """The symbols of the graph's inputs that are numbers."""
        names = self.env.names
        return tuple([atom for each in self.numbers for atom in names[each.symbol].symbols])


def unused_removed(operations: Sequence[Operation], kept: Iterable[object]) -> list[Operation]:
    """Dead code elimination: operators without uses and side effects are removed.

    `kept` are the live results, numbers and symbols: an unbacked size needs the operator that produces it.
    """
    needed: set[object] = set()
    binders = _binders(operations)

    def need(value: object) -> None:
        if isinstance(value, Result):
            needed.add(value)
        elif isinstance(value, Node):
            if not value.is_plain:
                need(symbols_of(value.value))
        elif isinstance(value, Atom):
            binder = binders.get(value)
            if binder is not None:
                needed.add(binder)
            if value.definition is not None:
                need(list(value.definition.symbols))
        elif isinstance(value, list | tuple | frozenset):
            for item in value:
                need(item)

    need(list(kept))
    left: list[Operation] = []
    for operation in reversed(operations):
        outputs = operation.outputs
        if (
            any(output in needed or isinstance(output, Node) for output in outputs)
            or not outputs
            or has_effects(operation)
        ):
            need(operation.arguments)
            left.append(operation)
    left.reverse()
    return left


def told_by(operations: Sequence[Operation]) -> set[Atom]:
    """The symbols that results of these operators bind, as sizes or as numbers."""
    found = set(_binders(operations))
    for operation in operations:
        for output in operation.outputs:
            if isinstance(output, Node) and not output.is_plain:
                found.update(symbols_of(output.value))
    return found


def _binders(operations: Sequence[Operation]) -> dict[Atom, Result]:
    """For each unbacked symbol, the first tensor that has it as a size."""
    found: dict[Atom, Result] = {}
    for operation in operations:
        for output in results_of(operation.output):
            if output.metadata is not None:
                for size in output.metadata.sizes:
                    if isinstance(size, torch.SymInt):
                        expr = size.node.value.expr
                        if is_symbol(expr):
                            (atom,) = expr.symbols
                            found.setdefault(atom, output)
    return found
