"""Reductions, scans, products, concatenation, gathers, embedding and log-likelihoods: their results are contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import is_number, order_of
from frontends.pytorch.meta_rules.normalization import Optional, given, one_dtype
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


@kind_rule(aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar)
def isin(
    recorder: Trace, elements: torch.Tensor, tests: object, *, assume_unique: bool = False, invert: bool = False
) -> object:
    """Membership of each element: contiguous whatever the input's layout."""
    base = metadata_of(recorder, elements)
    return packed(recorder, base.shape, torch.bool, base.device)


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


@kind_rule(aten.gather.default)
def gather(recorder: Trace, self: torch.Tensor, dim: int, index: torch.Tensor, *, sparse_grad: bool = False) -> object:
    """The sizes of the index, contiguous."""
    x, places = metadata_of(recorder, self), metadata_of(recorder, index)
    if sparse_grad or places.dtype is not torch.int64:
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.gather.default, x, dim, places), x.dtype, x.device)


# ---------------------------------------------------------------------- embedding and log-likelihood


@kind_rule(aten.embedding.default)
def embedding(recorder: Trace, weight: torch.Tensor, indices: torch.Tensor, *options: object) -> object:
    """A row for each index."""
    table, rows = given(recorder, weight, indices)
    if rows.dtype not in (torch.int64, torch.int32):
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.embedding.default, table, rows), table.dtype, table.device)


@kind_rule(aten.embedding_dense_backward.default)
def embedding_backward(
    recorder: Trace, grad_output: torch.Tensor, indices: torch.Tensor, num_weights: int, *options: object
) -> object:
    """A gradient for the whole table."""
    grad = metadata_of(recorder, grad_output)
    if not isinstance(num_weights, int) or not grad.shape:
        return NotImplemented
    return packed(recorder, (num_weights, grad.shape[-1]), grad.dtype, grad.device)


@kind_rule(aten.nll_loss_forward.default)
def nll_loss(recorder: Trace, self: torch.Tensor, target: torch.Tensor, weight: Optional, *options: int) -> object:
    """The loss, and the weight of all targets."""
    x, classes, weights = given(recorder, self, target, weight)
    if not one_dtype(x, weights):
        return NotImplemented
    found, total = ruled(recorder, aten.nll_loss_forward.default, x, classes, weights, *options)
    return packed(recorder, found, x.dtype, x.device), packed(recorder, total, x.dtype, x.device)


@kind_rule(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(
    recorder: Trace, grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, weight: Optional, *_: object
) -> object:
    """A gradient like the scores."""
    x, grad, weights = given(recorder, self, grad_output, weight)
    if not one_dtype(x, grad, weights):
        return NotImplemented
    return packed(recorder, x.shape, x.dtype, x.device)


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
