"""Reductions, scans, products, concatenation and padding: their results are contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import is_number, order_of
from frontends.pytorch.meta_rules.normalization import one_dtype
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed, ruled
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules.axes import axes_of

aten: Final = torch.ops.aten

ALONG_AXES: Final = (
    aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default, aten.any.dim, aten.all.dim,
    aten.any.dims, aten.all.dims, aten.var.correction, aten.std.correction, aten.logsumexp.default,
)  # fmt: skip
WHOLE: Final = (
    aten.sum.default, aten.mean.default, aten.any.default, aten.all.default, aten.max.default, aten.min.default,
    aten.prod.default,
)  # fmt: skip
WITH_PLACES: Final = (aten.max.dim, aten.min.dim)
PLACES: Final = (aten.argmax.default, aten.argmin.default)
SCANS: Final = (aten.cumsum.default, aten.cumprod.default, aten.index_select.default, aten.repeat.default)


@kind_rules(*WHOLE, *WITH_PLACES, *PLACES, *SCANS)
def reduced(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object, **kwargs: object
) -> Metadata | tuple[Metadata, ...] | object:
    """Contiguous results with the sizes of the shape rule."""
    dtypes = dtypes_of(func, (self, *args), kwargs)
    if dtypes is None:
        return NotImplemented
    base = metadata_of(recorder, self)
    found = ruled(recorder, func, base, *args, **{name: value for name, value in kwargs.items() if name != "dtype"})
    if len(dtypes) == 1:
        return packed(recorder, found, dtypes[0], base.device)
    return tuple([packed(recorder, one, dtype, base.device) for one, dtype in zip(found, dtypes)])


@kind_rules(*ALONG_AXES)
def reduced_along(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, dim: object = None, *args: object,
    **kwargs: object,
) -> object:  # fmt: skip
    """The same along some axes, or along all of them where there are none."""
    if isinstance(dim, list | tuple) and not dim:
        dim = axes_of(None, self.dim())
    return reduced(func, recorder, self, dim, *args, **kwargs)


@kind_rules(
    aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default, aten.addmm.default, aten.addmv.default,
    aten.baddbmm.default,
)  # fmt: skip
def product(operator: torch._ops.OpOverload, recorder: Trace, *tensors: torch.Tensor, **numbers: object) -> object:
    factors = [metadata_of(recorder, tensor) for tensor in tensors]
    first = factors[0]
    if not one_dtype(*factors):
        return NotImplemented
    return packed(recorder, ruled(recorder, operator, *factors, **numbers), first.dtype, first.device)


def may_be_channels_last(recorder: Trace, kind: Metadata) -> bool:
    """Return True if the strides may be ambiguous with channels-last ones."""
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
