"""Forward and backward of a program as two forms: besides its results, the forward returns what the backward reads.

    >>> import torch
    >>> from frontends.pytorch.graphs.split import recorded
    >>> from frontends.pytorch.tracing import trace
    >>> split = recorded(trace(lambda x: x.tanh().exp(), (torch.randn(3, requires_grad=True),), gradients=True))
    >>> len(split.results), len(split.saved), [str(each.target) for each in split.backward.operations]
    (1, 2, ['aten.mul.Tensor', 'aten.tanh_backward.default'])
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from frontends.pytorch.graphs.captured import Captured, told_by, unused_removed
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.graph import numbered
from frontends.pytorch.graphs.undefined_gradients import without
from frontends.pytorch.recording.operations import Operation, flat, results_of
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from frontends.pytorch.symbolic.values import symbols_of
from solver.terms.expr import Atom


@dataclass(frozen=True)
class Split:
    """Forward and backward.

    Attributes:
        results: the forward's first results: the distinct outputs of the variant.
        saved: its next results: the tensors that are the backward's first inputs.
        symbols: its last results: the sizes that are the backward's inputs after `saved` and the tangents.
        later: the unbacked numbers and sizes that the backward computes.
    """

    forward: Form
    backward: Form
    results: tuple[object, ...]
    saved: tuple[Result, ...]
    symbols: tuple[Atom, ...]
    later: frozenset[Atom]

    def without(self, undefined: Collection[int]) -> tuple[Form, tuple[int, ...]] | None:
        """The backward specialized to undefined gradients of these outputs, and the gradients that it takes.

        None if it is the same.
        """
        full, count = self.backward, len(self.saved)
        tangents = [result for _, result in full.inputs[count:]]
        left = without(undefined, full.operations, full.outputs, tangents)
        if left is None:
            return None
        inputs = (*full.inputs[:count], *[full.inputs[count + place] for place in left.given])
        known = told_by(left.operations)
        checks = [check for check in full.checks if known.issuperset(self.later & check.prop.symbols)]
        form = replace(
            full,
            inputs=inputs,
            operations=tuple(left.operations),
            outputs=tuple(left.gradients),
            checks=tuple(checks),
        )
        return form, left.given


def recorded(program: Captured) -> Split:
    """The operators of a program as they were recorded."""
    ran = program.recording.operations
    forward, backward = [[each for each in ran if each.backward is is_later] for is_later in (False, True)]
    assert program.joint is not None
    return split(program, forward, backward, program.results, program.joint.gradients)


def split(
    program: Captured,
    forward: Sequence[Operation],
    backward: Sequence[Operation],
    results: Sequence[object],
    gradients: Sequence[Result | None],
) -> Split:
    """Forward and backward of a program with these operators, without unused ones."""
    assert program.joint is not None
    tangents = program.joint.tangents
    later, deferred = program.told_later
    checked = [check.prop.symbols for check in deferred]
    backward = unused_removed(backward, [gradients, *checked])
    saved, symbols = needed(backward, tangents, gradients)
    given = {*program.number_atoms, *sizes_in([each.result for each in program.inputs])}
    made = {*given, *sizes_in([operation.output for operation in forward])}
    read = sizes_in([saved, tangents, [operation.output for operation in backward]])
    atoms = [*symbols, *[atom for atom in read if atom in made], *[atom for each in checked for atom in each]]
    symbols = [atom for atom in dict.fromkeys(atoms) if atom not in later]
    first = [check for check in program.runtime_asserts if check not in deferred]
    inputs = (*numbered("saved", saved), *numbered("tangent", tangents))
    return Split(
        program.form(forward, [*results, *saved, *symbols], first),
        Form(inputs, tuple(symbols), tuple(backward), tuple(gradients), tuple(deferred)),
        tuple(results),
        tuple(saved),
        tuple(symbols),
        later,
    )


def needed(
    backward: Sequence[Operation], tangents: Sequence[Result], gradients: Sequence[Result | None]
) -> tuple[list[Result], list[Atom]]:
    """The tensors that the backward reads but does not compute, and the symbols in its sizes."""
    made: set[Result] = set(tangents)
    saved: dict[Result, None] = {}
    symbols: dict[Atom, None] = {}

    def read(values: object) -> None:
        for value in flat(values):
            if isinstance(value, Result) and value not in made:
                saved[value] = None
            elif isinstance(value, Node):
                symbols.update(dict.fromkeys(symbols_of(value.value)))

    for operation in backward:
        read(operation.arguments)
        made.update([output for output in results_of(operation.output) if output not in saved])
    read(gradients)
    return list(saved), list(symbols)


def sizes_in(results: object) -> list[Atom]:
    """The distinct symbols in the sizes, strides and offsets of these results, and the numbers among them."""
    found: dict[Atom, None] = {}
    for value in flat(results):
        kind = value.metadata if isinstance(value, Result) else None
        for number in (value,) if kind is None else kind.key:
            if isinstance(number, Node):
                found.update(dict.fromkeys(symbols_of(number.value)))
    return list(found)
