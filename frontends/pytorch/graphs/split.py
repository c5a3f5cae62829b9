"""Forward and backward of a program as two forms: besides its results, the forward returns what the backward reads.

    >>> import torch
    >>> from frontends.pytorch.graphs.split import recorded
    >>> from frontends.pytorch.tracing import trace
    >>> split = recorded(trace(lambda x: x.tanh().exp(), (torch.randn(3, requires_grad=True),), gradients=True))
    >>> len(split.results), len(split.saved), [str(each.target) for each in split.backward.operations]
    (1, 2, ['aten.mul.Tensor', 'aten.tanh_backward.default'])

The recorded backward covers all outputs, and is specialized to those that were used, by dead code elimination: autograd
runs no operator for an unused output, and an input that only leads there has no gradient.

    >>> from frontends.pytorch import compile
    >>> x = torch.zeros(2, requires_grad=True)
    >>> root, double = compile(lambda x: (x.sqrt(), x * 2))(x)
    >>> double.sum().backward()
    >>> x.grad                      # without the root's infinite slope: zero times it would be nan
    tensor([2., 2.])
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch

from frontends.pytorch.graphs.captured import Captured, told_by, unused_removed
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.graph import numbered
from frontends.pytorch.recording.operations import Operation, flat, is_view, replaced, results_of
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
        if any(each.target._schema.is_mutable for each in full.operations):
            # mutated tensors have other names
            return None
        left, same, nothing = propagated(full.operations, tangents, {tangents[place] for place in undefined})
        gradients = [None if each is None or each in nothing else same.get(each, each) for each in full.outputs]
        operations = unused_removed(left, [each for each in gradients if each is not None])
        read = {*gradients, *results_of([each.arguments for each in operations])}
        given = tuple([place for place, each in enumerate(tangents) if each in read])
        if len(operations) == len(full.operations) and len(given) == len(tangents):
            return None
        inputs = (*full.inputs[:count], *[full.inputs[count + place] for place in given])
        known = told_by(operations)
        checks = tuple([check for check in full.checks if known.issuperset(self.later & check.prop.symbols)])
        form = replace(full, inputs=inputs, operations=tuple(operations), outputs=tuple(gradients), checks=checks)
        return form, given


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


# ---------------------------------------------------------------------- undefined gradients

aten: Final = torch.ops.aten
LINEAR: Final = frozenset(["mul", "mm", "bmm", "neg", "sum", "clone", "_to_copy"])
"""Operators that give zeros for zeros, besides views."""
OF_METADATA: Final = frozenset(["zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"])
"""Operators whose result does not depend on their argument's elements."""


def propagated(
    operations: Sequence[Operation], tangents: Sequence[Result], nothing: set[Result]
) -> tuple[list[Operation], dict[Result, Result], set[Result]]:
    """The operators that are left if these tangents are undefined, results that others replace, and undefined ones.

    A backward is linear in the gradients, so an operator on undefined ones alone is undefined, and a sum with one is
    its other operand. Where an undefined gradient is combined otherwise, it is replaced by zeros. The backward of a
    program's own function of several results need not be linear.
    """
    following = set(tangents)
    same: dict[Result, Result] = {}
    left: list[Operation] = []
    for operation in operations:
        args = tuple([replaced(arg, same) for arg in operation.args])
        named = {name: replaced(arg, same) for name, arg in operation.kwargs.items()}
        operation = replace(operation, args=args, kwargs=named)
        made = list(results_of(operation.output))
        given = following.intersection(results_of(operation.arguments))
        name = operation.target._schema.name.partition("::")[2]
        if given and name not in OF_METADATA:
            following.update(made)
            other = _other(operation, nothing)
            if other is not None:
                same[made[0]] = other
                continue
            if given <= nothing and (not operation.is_of_function or name in LINEAR or is_view(operation.target)):
                nothing.update(made)
        left.append(operation)
    return left, same, nothing


def _other(operation: Operation, nothing: Collection[Result]) -> Result | None:
    """The other operand of a sum with an undefined one, if it has the same metadata."""
    if operation.target is not aten.add.Tensor or operation.kwargs:
        return None
    left = [each for each in operation.args if each not in nothing]
    if len(left) != 1 or not isinstance(left[0], Result) or not isinstance(operation.output, Result):
        return None
    return left[0] if left[0].metadata is operation.output.metadata else None
