"""Concatenation and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import is_number, order_of
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed, ruled
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


def may_be_channels_last(recorder: Trace, kind: Metadata) -> bool:
    """Whether the strides may be ambiguous with channels-last ones."""
    if len(kind.sizes) not in (4, 5):
        return False
    order = order_of(recorder.env, kind)
    return order is None or not order.axes or order.axes[0] != len(kind.sizes) - 1


@kind_rules(aten.cat.default, aten.stack.default)
def joined(func: torch._ops.OpOverload, recorder: Trace, tensors: Sequence[torch.Tensor], dim: int = 0) -> object:
    """Concatenation along an existing axis, or along a new one."""
    kinds = [metadata_of(recorder, tensor) for tensor in tensors]
    if not kinds or any(may_be_channels_last(recorder, kind) for kind in kinds):
        return NotImplemented
    first = kinds[0]
    if any(len(kind.sizes) != len(first.sizes) or kind.device != first.device for kind in kinds):
        return NotImplemented
    dtypes = dtypes_of(func, (tensors, dim), {})
    if dtypes is None:
        return NotImplemented
    return packed(recorder, ruled(recorder, func, kinds, dim), dtypes[0], first.device)


@kind_rule(aten.constant_pad_nd.default)
def padded(recorder: Trace, self: torch.Tensor, pad: Sequence[TorchValue], value: object = 0) -> object:
    """Constant padding."""
    x = metadata_of(recorder, self)
    if may_be_channels_last(recorder, x) or all(is_number(one, 0) for one in pad):
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.constant_pad_nd.default, x, pad), x.dtype, x.device)
