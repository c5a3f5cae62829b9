"""Operators whose results are contiguous: reductions, scans, products, gathers and concatenation."""

from __future__ import annotations

from typing import Any, Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.registry import given, kind_rule, kind_rules, metadata_of, packed, ruled
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


@kind_rule(aten.native_layer_norm_backward.default)
def layer_norm_backward(recorder: Trace, grad: torch.Tensor, *args: Any) -> object:
    """Gradients like the input, the weight and the bias, where torch's meta function asks about sizes."""
    likes = given(recorder, args[0], *args[4:6])
    made = [like and packed(recorder, like.shape, like.dtype, like.device) for like in likes]
    return tuple([each if wanted else None for each, wanted in zip(made, args[6])])
