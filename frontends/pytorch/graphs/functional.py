"""Functionalized graphs for backends, in single-assignment form; mutated arguments are written back at the end.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional
    >>> def program(x):
    ...     x[0].mul_(2)
    ...     return x.relu()
    >>> form = functional(trace(program, (torch.randn(3, 4),)))
    >>> [str(node.target) for node in form.graph.graph.nodes if node.op == "call_function"]
    ['aten.select.int', 'aten.mul.Tensor', 'aten.select_scatter.default', 'aten.relu.default', 'aten.copy_.default']
    >>> [name for name, result in form.inputs if result in form.changed]
    ['x']

Aliased tensors are chains of views of one base. A write to a view becomes a new value of the base, by the inverses of
the views; views that are read afterwards are regenerated from it. Outputs keep their aliasing with arguments and with
each other.

The form is valid if nothing in `changed` overlaps another argument (`overlaps`); the mutating graph needs no such
condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import torch

from backends.cpu.launcher import Unavailable, launcher
from backends.decisions.questions import Decisions
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.captured import Captured
from frontends.pytorch.graphs.functionalize import Values
from frontends.pytorch.graphs.graph import GraphBuilder, numbered, unused_removed
from frontends.pytorch.graphs.joint import checkable, needed, told_later
from frontends.pytorch.graphs.joint_decompositions import in_parts, with_slopes
from frontends.pytorch.graphs.partition import computed_again
from frontends.pytorch.graphs.undefined_gradients import without
from frontends.pytorch.recording.operations import Argument, Operation, flat, results_of
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from frontends.pytorch.symbolic.values import symbols_of
from solver.terms.expr import Atom

if TYPE_CHECKING:
    from shapes.guards.guards import RuntimeAssert

aten: Final = torch.ops.aten


@dataclass(frozen=True)
class Functional:
    """A functionalized program.

    Attributes:
        inputs: the input tensors with their names.
        numbers: the input symbols, which follow them.
        outputs: results, numbers, symbols and constants.
        changed: the inputs and constants that are written at the end.
        checks: runtime conditions on sizes.
        floats: the numbers that are passed as floats, each the symbol of its bits.
    """

    inputs: tuple[tuple[str, Result], ...]
    numbers: tuple[Atom, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[Argument, ...]
    changed: tuple[Result, ...] = ()
    checks: tuple[RuntimeAssert, ...] = ()
    floats: tuple[Atom, ...] = ()

    @cached_property
    def graph(self) -> torch.fx.GraphModule:
        """The program as a graph."""
        builder = GraphBuilder(self.checks)
        builder.program(self.inputs, self.numbers, self.operations)
        outputs = [
            builder.sizes.expression(output.expr) if isinstance(output, Atom) else builder.argument(output)
            for output in self.outputs
        ]
        return builder.module(outputs)

    def overlaps(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Return True if the form may be wrong for these inputs because a mutated one overlaps another. Numbers after
        them are ignored."""
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
        """The same in C, which caches by data pointers: 0.125 us for ten tensors."""
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


@dataclass(frozen=True)
class FunctionalJoint:
    """Functionalized forward and backward.

    Attributes:
        results: the forward's first results: the distinct outputs of the variant.
        saved: its next results: the tensors that are the backward's first inputs.
        symbols: its last results: the sizes that are the backward's inputs after `saved` and the tangents.
        later: the unbacked numbers and sizes that the backward computes.
    """

    forward: Functional
    backward: Functional
    results: tuple[object, ...]
    saved: tuple[Result, ...]
    symbols: tuple[Atom, ...]
    later: frozenset[Atom]

    def without(self, undefined: Collection[int]) -> tuple[Functional, tuple[int, ...]] | None:
        """The backward specialized to undefined gradients of these outputs, and the gradients that it takes; None if it
        is the same."""
        full, count = self.backward, len(self.saved)
        tangents = [result for _, result in full.inputs[count:]]
        left = without(undefined, full.operations, full.outputs, tangents)
        if left is None:
            return None
        inputs = (*full.inputs[:count], *[full.inputs[count + place] for place in left.given])
        checks = checkable(full.checks, self.later, left.operations)
        form = replace(
            full,
            inputs=inputs,
            operations=tuple(left.operations),
            outputs=tuple(left.gradients),
            checks=tuple(checks),
        )
        return form, left.given


def functional(program: Captured) -> Functional:
    """Functionalize a program.

    Raises:
        Unsupported: it resizes an argument, or uses an operator that has no functional variant.
    """
    values = _functionalized(program)
    outputs = [values.argument(output) for output in program.outputs]
    return _forward(program, values, outputs, (), program.runtime_asserts)


def functional_joint(
    program: Captured, lowered: Container[object], decisions: Decisions | None = None
) -> FunctionalJoint:
    """Functionalized forward and backward, partitioned for a backend that lowers these operators, by the answers to
    `decisions`.

    Raises:
        Unsupported: as `functional`.
    """
    joint = program.joint
    assert joint is not None
    decisions = Decisions(program.env) if decisions is None else decisions
    values = _functionalized(program)
    ran = program.recording.operations
    later, deferred = told_later(program)
    checked = [check.prop.symbols for check in deferred]
    results = [values.argument(output) for output in program.results]
    values.operations = list(in_parts(values.operations, program.recording))
    cut = len(values.operations)
    for operation in ran:
        if operation.backward:
            values.run(operation)
    if values.unwritten():
        raise Unsupported("the backward mutates its inputs, which has no functional variant")
    gradients = [values.argument(gradient) for gradient in joint.gradients]
    wanted = [each for each in gradients if each is not None]
    backward = unused_removed(values.operations[cut:], [*wanted, *checked])
    del values.operations[cut:]
    values.operations, backward = with_slopes(values.operations, backward, program.recording)
    changed = {operation.args[0] for operation in values.operations if operation.target is aten.copy_.default}
    there = {each for each in results if isinstance(each, Result)}
    ends = replace(joint, gradients=tuple(gradients))
    read_back, _ = needed(backward, ends)
    backward = [*computed_again(decisions, values.operations, read_back, there, changed, lowered), *backward]
    saved, symbols = needed(backward, ends)
    given = {*program.number_atoms, *sizes_in([each.result for each in program.inputs])}
    made = {*given, *sizes_in([operation.output for operation in values.operations])}
    read = sizes_in([saved, joint.tangents, [operation.output for operation in backward]])
    atoms = [*symbols, *[atom for atom in read if atom in made], *[atom for each in checked for atom in each]]
    symbols = [atom for atom in dict.fromkeys(atoms) if atom not in later]
    first_checks = [check for check in program.runtime_asserts if check not in deferred]
    return FunctionalJoint(
        _forward(program, values, [*results, *saved], symbols, first_checks),
        Functional(
            (
                *numbered("saved", saved),
                *numbered("tangent", joint.tangents),
            ),
            tuple(symbols),
            tuple(backward),
            tuple(gradients),
            checks=tuple(deferred),
        ),
        tuple(results),
        tuple(saved),
        tuple(symbols),
        later,
    )


def _functionalized(program: Captured) -> Values:
    """Functionalize the forward, with the arguments written at its end."""
    if program.recording.overlapping:
        raise Unsupported(f"{program.recording.overlapping[0]}: it has no functional variant")
    values = Values(program.recording)
    for operation in program.recording.operations:
        if not operation.backward:
            values.run(operation)
    values.finish()
    return values


def _forward(
    program: Captured,
    values: Values,
    outputs: Sequence[object],
    symbols: Sequence[Atom],
    checks: Sequence[RuntimeAssert],
) -> Functional:
    checked = [check.prop.symbols for check in checks]
    kept = unused_removed(values.operations, (outputs, symbols, checked))
    return Functional(
        tuple([(each.name, each.result) for each in program.inputs]),
        program.number_atoms,
        tuple(kept),
        (*outputs, *symbols),
        tuple([operation.args[0] for operation in kept if operation.target is aten.copy_.default]),
        tuple(checks),
        program.float_atoms,
    )


def sizes_in(results: object) -> list[Atom]:
    """The distinct symbols in the sizes, strides and offsets of these results, and the numbers among them."""
    found: dict[Atom, None] = {}
    for value in flat(results):
        kind = value.metadata if isinstance(value, Result) else None
        for number in (value,) if kind is None else kind.key:
            if isinstance(number, Node):
                found.update(dict.fromkeys(symbols_of(number.value)))
    return list(found)


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
