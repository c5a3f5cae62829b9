"""Operators whose results are contiguous: reductions, scans, products, gathers, batch normalization, gradients.

Some are corrected afterwards (`corrected`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import elementwise_strides, is_by_row, is_packed, strides_of
from frontends.pytorch.meta_rules.registry import (
    given,
    kind_rule,
    kind_rules,
    metadata_of,
    one_dtype,
    packed,
    ruled,
    sizes_of,
)
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
    aten._softmax_backward_data.default, aten._log_softmax_backward_data.default,
    aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default, aten.any.dim, aten.all.dim,
    aten.any.dims, aten.all.dims, aten.var.correction, aten.std.correction, aten.logsumexp.default,
    aten.hash_tensor.default,
)  # fmt: skip
LIKE: Final = {
    aten.nll_loss_backward.default: (1,),
    aten.nll_loss2d_backward.default: (1,),
    aten.adaptive_max_pool3d_backward.default: (1,),
    aten.fractional_max_pool2d_backward.default: (1,),
    aten.fractional_max_pool3d_backward.default: (1,),
    aten._ctc_loss_backward.default: (1,),
    aten._ctc_loss_backward.Tensor: (1,),
    aten.glu_backward.default: (1,),
    aten.native_layer_norm_backward.default: (1, 5, 6),
    aten.slice_backward.default: (1,),
    aten.select_backward.default: (1,),
    aten.diagonal_backward.default: (1,),
    aten.unfold_backward.default: (1,),
}
"""Gradients like the arguments at these indices, or of these sizes, but contiguous; of several the last argument says
which are wanted."""


@kind_rules(*BY_RULE)
def by_rule(func: torch._ops.OpOverload, recorder: Trace, *args: Any, **kwargs: object) -> object:
    """Contiguous results with the sizes of the shape rule; no axes are all of them."""
    dtypes = dtypes_of(func, args, kwargs)
    if dtypes is None:
        return NotImplemented
    if len(args) > 1 and isinstance(args[1], list | tuple) and not args[1]:
        args = (args[0], axes_of(None, args[0].dim()), *args[2:])
    found = ruled(recorder, func, *args, **{name: value for name, value in kwargs.items() if name != "dtype"})
    device = metadata_of(recorder, args[0]).device
    if len(dtypes) == 1:
        return packed(recorder, found, dtypes[0], device)
    return tuple([packed(recorder, one, dtype, device) for one, dtype in zip(found, dtypes)])


@kind_rules(*LIKE)
def gradient(func: torch._ops.OpOverload, recorder: Trace, *args: Any) -> object:
    """New tensors of the arguments' sizes: torch's meta functions ask about these, or are missing."""
    found = []
    for like in [args[place] for place in LIKE[func]]:
        base = metadata_of(recorder, like if isinstance(like, torch.Tensor) else args[0])
        found.append(None if like is None else packed(recorder, sizes_of(like), base.dtype, base.device))
    return found[0] if len(found) == 1 else tuple([each if wanted else None for each, wanted in zip(found, args[-1])])


@kind_rules(
    aten.native_batch_norm.default,
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit_no_training.default,
)
def batch_norm(func: torch._ops.OpOverload, recorder: Trace, *args: Any) -> object:
    """The sizes of the input; mean and deviation of each channel in training."""
    if func is aten._native_batch_norm_legit_no_training.default:
        args = (*args[:5], False, *args[5:])
    x, *others = given(recorder, *args[:5])
    if not one_dtype(x, *others) or x.device.type != "cpu" and not is_packed(x):
        return NotImplemented
    _, *statistics = ruled(recorder, aten.native_batch_norm.default, x, *others, *args[5:])
    made = [packed(recorder, each, statistics_dtype(x), x.device) for each in statistics]
    return packed(recorder, x.shape, x.dtype, x.device), *made


@kind_rule(aten.constant_pad_nd.default)
def padded(recorder: Trace, self: torch.Tensor, pad: Sequence[TorchValue], value: object = 0) -> object:
    """Constant padding: torch's function guards products of the sizes."""
    x = metadata_of(recorder, self)
    sizes, strides = ruled(recorder, aten.constant_pad_nd.default, x, pad), None
    if not is_by_row(x):
        if not any(recorder.env.guard_or_true(one > 0) for one in sizes_of(pad)):
            # a tensor that is only cropped is copied in its layout
            cropped = recorder.kinds.laid(sizes, strides_of(x.shape), 0, x.dtype, x.device)
            strides = elementwise_strides(recorder.env, [cropped], sizes)
        if strides is None and len(sizes) in (4, 5):
            return NotImplemented
    return recorder.kinds.laid(sizes, strides, 0, x.dtype, x.device)


def statistics_dtype(x: Metadata) -> torch.dtype:
    """The dtype of means and deviations: accelerators keep those of float16 and bfloat16 in float32."""
    is_rounded = x.device.type == "cpu" or x.dtype not in (torch.float16, torch.bfloat16)
    return x.dtype if is_rounded else torch.float32
