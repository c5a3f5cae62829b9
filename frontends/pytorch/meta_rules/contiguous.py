"""Reductions, scans, products, concatenation, gathers, embedding and log-likelihoods: their results are contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import is_number, order_of
from frontends.pytorch.meta_rules.normalization import given
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed, ruled, sizes_of
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules.axes import axes_of

aten: Final = torch.ops.aten

BY_RULE: Final = (
    aten.sum.default, aten.mean.default, aten.any.default, aten.all.default, aten.max.default, aten.min.default,
    aten.prod.default, aten.max.dim, aten.min.dim, aten.argmax.default, aten.argmin.default,
    aten.cumsum.default, aten.cumprod.default, aten.index_select.default, aten.repeat.default,
    aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default, aten.addmm.default, aten.addmv.default,
    aten.baddbmm.default, aten.gather.default, aten.embedding.default, aten.nll_loss_forward.default,
    aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar, aten._softmax.default, aten._log_softmax.default,
)  # fmt: skip
ALONG_AXES: Final = (
    aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default, aten.any.dim, aten.all.dim,
    aten.any.dims, aten.all.dims, aten.var.correction, aten.std.correction, aten.logsumexp.default,
)  # fmt: skip
LIKE: Final = {
    aten.embedding_dense_backward.default: (0,),
    aten.nll_loss_backward.default: (1,),
    aten.nll_loss2d_backward.default: (1,),
    aten.adaptive_max_pool3d_backward.default: (1,),
    aten.fractional_max_pool2d_backward.default: (1,),
    aten.fractional_max_pool3d_backward.default: (1,),
    aten._ctc_loss_backward.default: (1,),
    aten._ctc_loss_backward.Tensor: (1,),
    aten.glu_backward.default: (1,),
    aten.native_layer_norm_backward.default: (1, 5, 6),
}
"""Gradients like the arguments at these indices, but contiguous; of several the last argument says which are wanted."""


@kind_rules(*BY_RULE)
def by_rule(func: torch._ops.OpOverload, recorder: Trace, *args: Any, **kwargs: object) -> object:
    """Contiguous results with the sizes of the shape rule."""
    dtypes = dtypes_of(func, args, kwargs)
    if dtypes is None:
        return NotImplemented
    found = ruled(recorder, func, *args, **{name: value for name, value in kwargs.items() if name != "dtype"})
    device = metadata_of(recorder, args[0]).device
    if len(dtypes) == 1:
        return packed(recorder, found, dtypes[0], device)
    return tuple([packed(recorder, one, dtype, device) for one, dtype in zip(found, dtypes)])


@kind_rules(*ALONG_AXES)
def along_axes(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, dim: object = None, *args: object,
    **kwargs: object,
) -> object:  # fmt: skip
    """The same along some axes, or along all of them where there are none."""
    if isinstance(dim, list | tuple) and not dim:
        dim = axes_of(None, self.dim())
    return by_rule(func, recorder, self, dim, *args, **kwargs)


@kind_rules(*LIKE)
def gradient(func: torch._ops.OpOverload, recorder: Trace, *args: Any, **kwargs: object) -> object:
    """New tensors of the arguments' sizes; of the whole table for an embedding."""
    kinds = given(recorder, *[args[place] for place in LIKE[func]])
    if func is aten.embedding_dense_backward.default:
        return packed(recorder, (sizes_of(args[2]), kinds[0].shape[-1]), kinds[0].dtype, kinds[0].device)
    wanted = args[-1] if len(kinds) > 1 else [True]
    made = [kind and packed(recorder, kind.shape, kind.dtype, kind.device) for kind in kinds]
    return tuple([each if want else None for each, want in zip(made, wanted)]) if len(kinds) > 1 else made[0]


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
