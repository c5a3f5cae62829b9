"""Overlapping memory in mutations: such programs run operator by operator.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> trace(lambda x: x.add_(x[0].clone()), (torch.randn(3, 4),)).guards
    ()
    >>> trace(lambda x: x[:, 1:].add_(x[:, :-1]), (torch.randn(3, 4),)).recording.overlapping
    ['aten.add_.Tensor reads elements that it writes']
    >>> trace(lambda x: x[:, ::2].add_(x[:, 1::2]), (torch.randn(3, 4),)).recording.overlapping
    []

Torch's kernels reject some overlaps, and do not check tensors with gaps: a kernel then reads elements that it has
written, in an unspecified order. Functionalized kernels read everything before they write. So they are used only if
reads are proven disjoint from writes (dependence analysis, `shapes.environment.dependence`), under guards where sizes
decide, or read exactly the written elements one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import Operation, follow, is_view, results_of, written_and_read
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Result
from shapes.environment.dependence import Holds, Proof, disjoint, identical, injective
from shapes.environment.layout import Layout
from shapes.rules.broadcasting import known, same
from shapes.symbolic.choices import Truth

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder
    from shapes.env import ShapeEnv
    from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten
ELEMENTWISE: Final = frozenset((aten.copy_.default, aten.masked_fill_.Scalar, aten.masked_fill_.Tensor))
"""Elementwise operators besides those with torch's pointwise tag."""
READING_FIRST: Final = frozenset((aten.fill_.Tensor,))
"""Operators that read everything before they write."""


def settle_overlaps(recorder: Recorder) -> None:
    """Guard the sizes under which mutated memory is disjoint from its operands; record mutations that may overlap,
    which have no functional form.

    Raises:
        Unsupported: an operator that torch may reject by other rules.
    """
    recording = recorder.recording
    roots: dict[Result, Result] = {}
    strided: set[Result] = set()
    for operation in recording.operations:
        target = operation.target
        if not isinstance(target, torch._ops.OpOverload):
            continue
        if is_view(target):
            follow(operation, roots)
            if target is aten.as_strided.default or operation.args[0] in strided:
                strided.update(results_of(operation.output))
        elif target._schema.is_mutable and target.namespace == "aten" and torch.Tag.inplace_view not in target.tags:
            _settle(recorder, operation, roots, strided)


def _settle(recorder: Recorder, operation: Operation, roots: dict[Result, Result], strided: set[Result]) -> None:
    target, env = operation.target, recorder.env
    written, read = written_and_read(operation)
    if len(written) != 1 or target in READING_FIRST:
        # not a kernel, or harmless
        return
    (changed,) = written
    elementwise = torch.Tag.pointwise in target.tags or target in ELEMENTWISE
    root = roots.get(changed, changed)
    shared = [each for each in dict.fromkeys(read) if roots.get(each, each) is root]
    proofs = [_apart(env, changed, each, elementwise) for each in shared]
    if not all(proof is not None for proof in proofs) and not elementwise:
        what = f"{target}: what is changed in place may overlap what is read for it"
        unsupported(what, "clone() what is read", operation.origin)
    layout = _layout(changed)
    is_expanded = any(isinstance(stride, int) and stride == 0 for stride in layout.strides)
    if (changed in strided or is_expanded) and not operation.backward:
        proofs.append(injective(layout, _holding(env)))
    needed: list[Truth] = []
    for proof in proofs:
        if proof is None:
            recorder.recording.overlapping.append(f"{target} reads elements that it writes")
            return
        needed += proof
    if needed:
        with env.at(operation.origin):
            for condition in needed:
                if not isinstance(condition, bool):
                    env.guard(condition)


def _apart(env: ShapeEnv, written: Result, read: Result, elementwise: bool) -> Proof | None:
    """Conditions under which no element is read after it was written for another one."""
    one, other = written.metadata, read.metadata
    if one is None or other is None or one.dtype.itemsize != other.dtype.itemsize:
        return None
    layouts = _layout(written), _layout(read)
    if elementwise and identical(*layouts, lambda a, b: _equal(env, a, b)):
        return ()
    return disjoint(*layouts, _holding(env))


def _holding(env: ShapeEnv) -> Holds:
    """Decide by the hints, with a guard if it is not proven; for unbacked sizes only what is proven."""

    def holds(condition: Truth) -> bool:
        if isinstance(condition, bool):
            return condition
        now = env.hint(condition)
        return known(env, condition) is True if now is None else now is True

    return holds


def _layout(result: Result) -> Layout:
    assert result.metadata is not None
    shape = result.metadata.shape
    return Layout(tuple(shape), shape.strides or (), value_of(result.metadata.offset))


def _equal(env: ShapeEnv, one: Int, other: Int) -> bool:
    return same(one, other) or known(env, one == other) is True
