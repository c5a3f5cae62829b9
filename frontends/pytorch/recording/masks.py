"""Masked assignment as a select: `x[mask] = v` is `where(mask, v, x)`, without unbacked sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def clipped(x):
    ...     x = x.clone()
    ...     x[x > 1] = 1.0
    ...     return x
    >>> variant = trace(clipped, (torch.randn(3, 4),))
    >>> [node.name for node in variant.graph.graph.nodes if "where" in node.name or "index" in node.name]
    ['where_self']

The value's sizes must not depend on the number of selected elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.recording.special import special
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Traced
from shapes.symbolic.choices import Int, sym_or
from shapes.symbolic.numbers import SymBool

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder

aten: Final = torch.ops.aten


@special(aten.index_put_.default, aten.index_put.default)
def write_through_mask(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Record a select if one mask is the only index, and the value has no axis for the selected elements."""
    self, indices, values, accumulate = (*args, False)[:4]
    self, values = recorder.lift(self), recorder.lift(values)
    masks = [index for index in indices if index is not None]
    if len(masks) != 1 or masks[0].dtype is not torch.bool or values.dtype is not self.dtype:
        return NotImplemented
    mask = recorder.lift(masks[0])
    before = [index is not None for index in indices].index(True)
    after = self.dim() - before - mask.dim()
    repeated = any(isinstance(stride, int) and stride == 0 for stride in self.metadata.strides)
    if after < 0:
        return NotImplemented
    require_mask(recorder, self, mask, before)
    if values.dim() > after or repeated:
        own, sizes = values.metadata.shape, self.metadata.shape
        guard_equal(recorder, [*zip(own[::-1][:after], sizes[::-1])])
        guard_equal(recorder, [*zip(own, sizes[:before])] if len(own) == before + 1 + after else [])
        return NotImplemented
    require_values(recorder, self, values)
    run = recorder.operator
    if after and mask.dim():
        mask = run(aten.view.default, (packed(recorder, mask), [*mask.shape, *[1] * after]), {})
    chosen = run(aten.add.Tensor, (self, values), {}) if accumulate else values
    result = run(aten.where.self, (mask, chosen, self), {})
    if func is aten.index_put_.default:
        run(aten.copy_.default, (self, result), {})
        return args[0]
    if result.metadata is self.metadata:
        return result
    return run(aten.copy_.default, (run(aten.clone.default, (self,), {}), result), {})


def packed(recorder: Recorder, mask: Traced) -> Traced:
    """A contiguous mask, so that axes can be added by a view."""
    kind = mask.metadata
    if kind is recorder.kinds.packed(kind.sizes, kind.dtype, kind.device):
        return mask
    return recorder.operator(aten.clone.default, (mask,), {"memory_format": torch.contiguous_format})


def require_mask(recorder: Recorder, self: Traced, mask: Traced, before: int) -> None:
    """Eager's check: the mask matches its axes."""
    for axis, size in enumerate(mask.shape):
        recorder.env.require(
            value_of(size) == value_of(self.shape[before + axis]),
            "the mask has other sizes than what it is an index of",
        )


def require_values(recorder: Recorder, self: Traced, values: Traced) -> None:
    """Eager's check: the value broadcasts to the remaining axes."""
    for axis in range(-values.dim(), 0):
        size, whole = value_of(values.shape[axis]), value_of(self.shape[axis])
        recorder.env.require(sym_or(size == whole, size == 1), "the value does not fit what is written")


@special(aten.masked_select.default, aten.masked_scatter.default, aten.masked_scatter_.default)
def as_large(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Guard that a mask has the sizes of its tensor, if it has: elements that are selected keep their places then."""
    sizes, own = [recorder.lift(each).metadata.shape for each in args[:2]]
    if len(sizes) == len(own):
        guard_equal(recorder, [*zip(sizes, own)])
    return NotImplemented


def guard_equal(recorder: Recorder, pairs: Sequence[tuple[Int, Int]]) -> None:
    """Guard that sizes which may broadcast are equal, if they are."""
    for size, other in pairs:
        agrees = size == other
        if isinstance(agrees, SymBool) and recorder.env.true_at_hints(agrees):
            recorder.env.guard(agrees)
