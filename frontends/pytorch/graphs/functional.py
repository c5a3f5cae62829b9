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

Selections by masks are rewritten so that no size depends on data (`frontends.pytorch.graphs.selections`).

The form is valid if nothing in `changed` overlaps another argument (`overlaps`); the mutating graph needs no such
condition.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import torch

from backends.decisions.questions import Decisions
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.captured import Captured, unused_removed
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.functionalize import Values
from frontends.pytorch.graphs.partition import computed_again
from frontends.pytorch.graphs.selections import without_selections
from frontends.pytorch.graphs.split import Split, needed, split
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten


def functional(program: Captured) -> Form:
    """Functionalize a program.

    Raises:
        Unsupported: it resizes an argument, or uses an operator that has no functional variant.
    """
    values = functionalized(program)
    outputs = [values.argument(output) for output in program.outputs]
    found = without_selections(program, values.operations, len(values.operations), outputs)
    return program.form(found.operations, outputs, program.runtime_asserts)


def functional_joint(program: Captured, lowered: Container[object], decisions: Decisions | None = None) -> Split:
    """Functionalized forward and backward, partitioned for a backend that lowers these operators, by the answers to
    `decisions`.

    Raises:
        Unsupported: as `functional`.
    """
    joint = program.joint
    assert joint is not None
    decisions = Decisions(program.env) if decisions is None else decisions
    values = functionalized(program)
    results = [values.argument(output) for output in program.results]
    cut = len(values.operations)
    for operation in program.recording.operations:
        if operation.backward:
            values.run(operation)
    if values.unwritten():
        raise Unsupported("the backward mutates its inputs, which has no functional variant")
    gradients = [values.argument(gradient) for gradient in joint.gradients]
    found = without_selections(program, values.operations, cut, [*results, *gradients])
    checked = [check.prop.symbols for check in program.told_later[1]]
    forward = found.operations[: found.cut]
    backward = unused_removed(found.operations[found.cut :], [gradients, *checked])
    changed = {operation.args[0] for operation in forward if operation.target is aten.copy_.default}
    there = {each for each in results if isinstance(each, Result)}
    read, _ = needed(backward, joint.tangents, gradients)
    backward = [*computed_again(decisions, forward, read, there, changed, lowered), *backward]
    return split(program, forward, backward, results, gradients)


def functionalized(program: Captured) -> Values:
    """Functionalize the forward, with the arguments written at its end."""
    if program.recording.overlapping:
        raise Unsupported(f"{program.recording.overlapping[0]}: it has no functional variant")
    values = Values(program.recording)
    for operation in program.recording.operations:
        if not operation.backward:
            values.run(operation)
    values.finish()
    return values
