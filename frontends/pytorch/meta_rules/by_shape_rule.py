"""Operators whose sizes the shape rule determines: views of a tensor, and new contiguous ones.

The strides determine whether a view is possible, as in torch but without a special case for axes of extent 1. New are
the results of reductions, scans, products, gathers, batch normalization and gradients; some are corrected afterwards
(`corrected`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from frontends.pytorch.meta_rules.pointwise import dtypes_of
from frontends.pytorch.meta_rules.registry import (
    given,
    kind_rule,
    kind_rules,
    metadata_of,
    one_dtype,
    packed,
    ruled,
    sizes_of,
    viewed,
)
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape
from shapes.rules.axes import axes_of, axis_of
from shapes.rules.broadcasting import same
from shapes.rules.memory_order import elementwise_strides, is_by_row, is_number, is_packed, strides_of
from shapes.rules.viewing import reshaped

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
    if not one_dtype(x, *others) or x.device.type != "cpu" and not is_packed(x.shape):
        return NotImplemented
    _, *statistics = ruled(recorder, aten.native_batch_norm.default, x, *others, *args[5:])
    made = [packed(recorder, each, statistics_dtype(x), x.device) for each in statistics]
    return packed(recorder, x.shape, x.dtype, x.device), *made


@kind_rule(aten.constant_pad_nd.default)
def padded(recorder: Trace, self: torch.Tensor, pad: Sequence[TorchValue], value: object = 0) -> object:
    """Constant padding: torch's function guards products of the sizes."""
    x = metadata_of(recorder, self)
    sizes, strides = ruled(recorder, aten.constant_pad_nd.default, x, pad), None
    if not is_by_row(x.shape):
        if not any(recorder.env.guard_or_true(one > 0) for one in sizes_of(pad)):
            # a tensor that is only cropped is copied in its layout
            cropped = Shape(sizes, strides=strides_of(x.shape))
            strides = elementwise_strides(recorder.env, [cropped], sizes)
        if strides is None and len(sizes) in (4, 5):
            return NotImplemented
    return recorder.kinds.laid(sizes, strides, 0, x.dtype, x.device)


def statistics_dtype(x: Metadata) -> torch.dtype:
    """The dtype of means and deviations: accelerators keep those of float16 and bfloat16 in float32."""
    is_rounded = x.device.type == "cpu" or x.dtype not in (torch.float16, torch.bfloat16)
    return x.dtype if is_rounded else torch.float32


# ---------------------------------------------------------------------- views


@kind_rule(aten.view.default, aten._unsafe_view.default)
def view(recorder: Trace, self: torch.Tensor, size: Sequence[object]) -> object:
    """The requested sizes; a contiguous tensor allows all of them, others if their strides do."""
    base = metadata_of(recorder, self)
    target = sizes_of(size)
    if len(target) == len(base.shape) and all(same(one, other) for one, other in zip(base.shape, target)):
        return base
    if is_packed(base.shape):
        sizes = reshaped(recorder.env, base.shape, target)
        return recorder.kinds.laid(sizes, None, base.shape.storage_offset, base.dtype, base.device)
    return viewed(recorder, ruled(recorder, aten.view.default, base, size), base)


@kind_rule(aten.expand.default)
def expand(recorder: Trace, self: torch.Tensor, size: Sequence[object], *, implicit: bool = False) -> object:
    """Expand axes of size 1 by a stride of 0.

    An axis whose hint equals the requested size is guarded to be equal.
    """
    base = metadata_of(recorder, self)
    target = sizes_of(size)
    env = recorder.env
    shift = len(target) - len(base.shape)
    for place, one in enumerate(base.shape, shift):
        wanted = target[place] if 0 <= place else 0
        if is_number(one, 1) or is_number(wanted, -1) or same(one, wanted):
            continue
        hints = [value if isinstance(value, int) else env.hint(value) for value in (one, wanted)]
        if None not in hints:
            env.guard(one == wanted) if hints[0] == hints[1] else env.guard(one == 1)
    return viewed(recorder, ruled(recorder, aten.expand.default, base, size), base)


@kind_rules(
    aten.permute.default, aten.transpose.int, aten.t.default, aten.unsqueeze.default, aten.squeeze.dim,
    aten.squeeze.dims, aten.squeeze.default, aten.select.int, aten.split.Tensor, aten.split_with_sizes.default,
    aten.unbind.int,
)  # fmt: skip
def view_by_rule(operator: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object) -> object:
    """One view or several, with the sizes and strides of the shape rule.

    A size that `squeeze` drops is a branch: torch's meta function takes it for larger than 1.
    """
    base = metadata_of(recorder, self)
    found = ruled(recorder, operator, base, *args)
    return viewed(recorder, found, base) if type(found) is Shape else [viewed(recorder, one, base) for one in found]


@kind_rule(aten.slice.Tensor)
def slice_tensor(
    recorder: Trace,
    self: torch.Tensor,
    dim: int = 0,
    start: object = None,
    end: object = None,
    step: object = 1,
) -> object:
    """A part of one axis."""
    base = metadata_of(recorder, self)
    shape = base.shape
    if not shape:
        return NotImplemented
    axis = axis_of(dim, len(shape))
    first, last = sizes_of(start), sizes_of(end)
    if type(last) is int and last >= 2**62 or last is not None and same(last, shape[axis]):
        last = None
    if type(step) is int and step == 1 and last is None and (first is None or is_number(first, 0)):
        return base
    return viewed(recorder, ruled(recorder, aten.slice.Tensor, base, dim, first, last, step), base)
