"""Decompositions in the joint graph, so that less is saved between forward and backward.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional_joint
    >>> from frontends.pytorch.lowering import LOWERINGS
    >>> def program(x):
    ...     return torch.log_softmax(x, -1)[:, 0].sum()
    >>> joint = functional_joint(trace(program, (torch.randn(3, 8, requires_grad=True),), gradients=True), LOWERINGS)
    >>> [str(result.metadata) for result in joint.saved]       # the argument, and two numbers of each row
    ['float32[x_size0, x_size1]', 'float32[x_size0, 1]', 'float32[x_size0, 1]']

log_softmax is elementwise given each row's maximum and log-sum-exp. The backward of an activation is a gradient times a
slope, which the forward may compute and save instead of the argument. float16 and bfloat16 would be rounded in between:
their operators are not decomposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch

from frontends.pytorch.recording.operations import Operation, Recording
from frontends.pytorch.symbolic.metadata import Kinds, Metadata
from frontends.pytorch.symbolic.node import Node, value_of
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
SLOPED: Final = (aten.gelu_backward.default,)
"""Operators that multiply their first argument, a gradient, by a slope with an exponential or more; others such as
mish's are recorded decomposed."""


def greatest(x: torch.Tensor, axis: int) -> torch.Tensor:
    """The maximum of each row, -inf if it is empty."""
    if x.shape[axis]:
        return x.amax(axis, keepdim=True)
    return x.sum(axis, keepdim=True) - torch.inf


def logarithm(x: torch.Tensor, most: torch.Tensor, axis: int) -> torch.Tensor:
    """The log-sum-exp of each row, relative to its maximum."""
    return (x - most).exp().sum(axis, keepdim=True).log()


def in_parts(operations: Sequence[Operation], recording: Recording) -> Iterator[Operation]:
    """Decompose log_softmax."""
    for operation in operations:
        if operation.target is aten._log_softmax.default and _is_exact(operation):
            yield from _log_softmax(operation, recording)
        else:
            yield operation


def with_slopes(
    forward: Sequence[Operation], backward: Sequence[Operation], recording: Recording
) -> tuple[list[Operation], list[Operation]]:
    """Move slopes from the backward to the forward, right after their argument."""
    makers = {output: place for place, each in enumerate(forward) for output in each.outputs}
    inside = {output for each in backward for output in each.outputs}
    added: dict[int, list[Operation]] = {}
    ending: list[Operation] = []
    for operation in backward:
        x = operation.args[1] if operation.target in SLOPED else None
        if not isinstance(x, Result) or x in inside or not _is_exact(operation):
            ending.append(operation)
            continue
        made, origin = operation.output, operation.origin
        assert isinstance(made, Result)
        one, slope = recording.result(made.metadata), recording.result(made.metadata)
        added.setdefault(makers.get(x, -1), []).extend(
            [
                Operation(aten.ones_like.default, (x,), {}, one, False, origin),
                Operation(operation.target, (one, *operation.args[1:]), operation.kwargs, slope, False, origin),
            ]
        )
        ending.append(Operation(aten.mul.Tensor, (operation.args[0], slope), {}, made, True, origin))
    starting = added.get(-1, [])
    for place, operation in enumerate(forward):
        starting += [operation, *added.get(place, ())]
    return starting, ending


def _is_exact(operation: Operation) -> bool:
    x = operation.args[0]
    assert isinstance(x, Result) and x.metadata is not None
    return bool(x.metadata.sizes) and x.metadata.dtype in (torch.float32, torch.float64)


def _log_softmax(operation: Operation, recording: Recording) -> Iterator[Operation]:
    x, axis, _ = operation.args
    made = operation.output
    assert isinstance(x, Result) and x.metadata is not None and isinstance(axis, int) and isinstance(made, Result)
    of_rows = _of_rows(x.metadata, axis % len(x.metadata.sizes))

    def step(target: Callable[..., object], output: Result, *args: object) -> Operation:
        return Operation(target, args, {}, output, operation.backward, operation.origin)

    most, scale, away = [recording.result(kind) for kind in (of_rows, of_rows, made.metadata)]
    yield step(greatest, most, x, axis)
    yield step(logarithm, scale, x, most, axis)
    yield step(aten.sub.Tensor, away, x, most)
    yield step(aten.sub.Tensor, made, away, scale)


def _of_rows(metadata: Metadata, axis: int) -> Metadata:
    """The metadata of one value for each row."""
    sizes = [1 if place == axis else value_of(size) for place, size in enumerate(metadata.sizes)]
    # where no size is symbolic, nothing asks for them
    nodes: Any = next((part.nodes for part in metadata.key if isinstance(part, Node)), None)
    return Kinds(nodes).laid(sizes, None, 0, metadata.dtype, metadata.device)
