"""Overlapping memory in mutations: such programs run operator by operator.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> trace(lambda x: x.add_(x[0].clone()), (torch.randn(3, 4),)).recording.overlapping
    []
    >>> trace(lambda x: x[:, 1:].add_(x[:, :-1]), (torch.randn(3, 4),)).recording.overlapping
    ['aten.add_.Tensor may read elements that it writes']

Torch's kernels reject some overlaps, and do not check tensors with gaps: a kernel then reads elements that it has
written, in an unspecified order. Functionalized kernels read everything before they write. So they are used only if
nothing else of the written tensor's memory is read, or exactly the written elements one by one.
"""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.recording.operations import Operation, Recording, follow, is_view, results_of, written_and_read
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
ELEMENTWISE: Final = frozenset((aten.copy_.default, aten.masked_fill_.Scalar, aten.masked_fill_.Tensor))
"""Elementwise operators besides those with torch's pointwise tag."""
READING_FIRST: Final = frozenset((aten.fill_.Tensor,))
"""Operators that read everything before they write."""


def find_overlaps(recording: Recording) -> None:
    """Record the mutations that may overlap their operands, or write an element twice: they have no functional form."""
    roots: dict[Result, Result] = {}
    strided: set[Result] = set()
    for operation in recording.operations:
        target = operation.target
        if is_view(target):
            follow(operation, roots)
            if target is aten.as_strided.default or operation.args[0] in strided:
                strided.update(results_of(operation.output))
        elif target._schema.is_mutable and target.namespace == "aten":
            if _overlaps(operation, roots, strided):
                recording.overlapping.append(f"{target} may read elements that it writes")


def _overlaps(operation: Operation, roots: dict[Result, Result], strided: set[Result]) -> bool:
    target = operation.target
    written, read = written_and_read(operation)
    if len(written) != 1 or target in READING_FIRST:
        # not a kernel, or harmless
        return False
    (changed,) = written
    assert changed.metadata is not None
    is_expanded = any(isinstance(stride, int) and stride == 0 for stride in changed.metadata.strides)
    if (changed in strided or is_expanded) and not operation.backward:
        return True
    shared = [each for each in read if roots.get(each, each) is roots.get(changed, changed)]
    elementwise = torch.Tag.pointwise in target.tags or target in ELEMENTWISE
    return any(each.metadata is not changed.metadata or not elementwise for each in shared)
