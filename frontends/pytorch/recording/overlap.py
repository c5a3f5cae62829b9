"""Element-wise changes in place that partly overlap what they read: torch's kernels refuse them, and so does a trace.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> trace(lambda x: x.add_(x[0]), (torch.randn(3, 4),))
    Traceback (most recent call last):
    RuntimeError: unsupported operation: some elements of the input tensor and the written-to tensor refer to a ...
    >>> trace(lambda x: x.add_(x[0].clone()), (torch.randn(3, 4),)).guards
    ()

As in `at::get_overlap_status`, tensors with gaps are not looked at, and a tensor may be read where it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from frontends.pytorch.operators.layouts import order_of
from frontends.pytorch.operators.pointwise import in_place_overloads
from frontends.pytorch.recording.special import special
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Traced
from shapes.rules.broadcasting import known, same

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder
    from shapes.choices import Int
    from shapes.env import ShapeEnv


@special(*in_place_overloads(), torch.ops.aten.copy_.default)
def refuse_overlap(recorder: Recorder, func, args, kwargs):
    """Raise torch's error, where the trace knows that the kernel would."""
    written = args[0]
    if isinstance(written, Traced):
        for read in args[1:]:
            if isinstance(read, Traced) and read is not written and _base(read) is _base(written):
                if partly_overlaps(recorder.env, written.metadata, read.metadata):
                    raise RuntimeError(
                        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a"
                        " single memory location. Please clone() the tensor before performing the operation."
                    )
    return NotImplemented


def _base(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor._base if tensor._is_view() else tensor


def partly_overlaps(env: ShapeEnv, one: Metadata, other: Metadata) -> bool:
    """Whether two tensors in one storage, both without gaps, share some elements but are not the same.

    Where the facts do not say whether they are apart, this is guarded as it is this time.
    """
    if one is other or one.dtype is not other.dtype:
        return False
    orders = order_of(env, one), order_of(env, other)
    if any(order is None or not order.dense for order in orders):
        return False
    first, second = _extent(one), _extent(other)
    if all(_equal(env, a, b) for a, b in zip((*first, *one.shape.strides), (*second, *other.shape.strides))):
        return len(one.shape) != len(other.shape)
    return not (_precedes(env, first, second) or _precedes(env, second, first))


def _extent(metadata: Metadata) -> tuple[Int, Int]:
    """Its first element, and the first behind its last one."""
    count: Int = 1
    for size in metadata.shape:
        count = count * size
    start = value_of(metadata.offset)
    return start, start + count


def _equal(env: ShapeEnv, one: Int, other: Int) -> bool:
    return same(one, other) or known(env, one == other)


def _precedes(env: ShapeEnv, one: tuple[Int, Int], other: tuple[Int, Int]) -> bool:
    """Whether the first ends before the other begins."""
    before = one[1] <= other[0]
    return before if isinstance(before, bool) else env.guard(before)


__all__ = ["refuse_overlap"]
