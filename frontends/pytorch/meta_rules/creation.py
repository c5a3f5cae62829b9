"""Copies, and new tensors like another one: in its dimension order, where torch's meta function asks about sizes."""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.meta_rules.layouts import elementwise_strides, order_of
from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed
from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


@kind_rule(
    aten.clone.default, aten._to_copy.default, aten.ones_like.default, aten.zeros_like.default, aten.empty_like.default,
    aten.rand_like.default, aten.randn_like.default, aten.full_like.default,
)  # fmt: skip
def like(
    recorder: Trace, self: torch.Tensor, *values: object, dtype: torch.dtype | None = None,
    device: torch.device | None = None, memory_format: torch.memory_format | None = None, **options: object,
) -> object:  # fmt: skip
    """A copy with another dtype or device, or a new tensor like this one, without its gaps and expanded axes."""
    base = metadata_of(recorder, self)
    dtype, device = base.dtype if dtype is None else dtype, base.device if device is None else torch.device(device)
    is_dense = options.get("layout") in (None, torch.strided) and not options.get("pin_memory")
    if not is_dense or device.type != "cpu" and device.index is None:
        return NotImplemented
    if memory_format is torch.contiguous_format:
        return packed(recorder, base.shape, dtype, device)
    order = order_of(recorder.env, base) if memory_format in (None, torch.preserve_format) else None
    if order is None:
        return NotImplemented
    if order.dense:
        return recorder.kinds.like(base, dtype, device)
    strides = elementwise_strides(recorder.env, [base], base.shape)
    return NotImplemented if strides is None else recorder.kinds.laid(base.shape, strides, 0, dtype, device)
