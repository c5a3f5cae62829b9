"""Elementwise operators: broadcasting and type promotion.

The operator itself determines the result's dtype, once for each combination of dtypes and scalars, on tensors of one
element (`dtypes`); its sizes and strides follow from the operands (`layouts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import (
    common_sizes,
    elementwise_strides,
    is_ambiguously_channels_last,
    order_of,
)
from frontends.pytorch.meta_rules.registry import kind_rules, metadata_of, packed
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules.broadcasting import same
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten

NAMES: Final = """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil celu cos cosh deg2rad digamma elu erf erfc erfinv exp
    exp2 expm1 floor frac gelu hardshrink hardsigmoid hardswish hardtanh i0 isinf isnan isneginf isposinf leaky_relu
    lgamma log log10 log1p log2 logical_not logit mish nan_to_num neg rad2deg reciprocal relu round rsqrt selu sgn
    sigmoid sign signbit silu sin sinc sinh softplus softshrink sqrt tan tanh trunc threshold
    add sub mul div eq ne lt le gt ge pow remainder fmod floor_divide
    bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor
    rsub atan2 maximum minimum fmax fmin xlogy special_xlog1py hypot copysign logaddexp heaviside
    where clamp clamp_min clamp_max lerp addcmul addcdiv
    gelu_backward sigmoid_backward tanh_backward silu_backward threshold_backward hardtanh_backward
    leaky_relu_backward elu_backward softplus_backward hardswish_backward hardsigmoid_backward logit_backward
    mse_loss_backward smooth_l1_loss_backward
"""
NO_RULE: Final = {"where.default", "bitwise_and.Scalar_Tensor", "bitwise_or.Scalar_Tensor", "bitwise_xor.Scalar_Tensor"}

REVERSED: Final = (aten.rsub.Tensor, aten.threshold_backward.default)
"""Operators whose kernels take their operands in another order: the last one's strides have priority."""

PACKED: Final = (aten.pow.Scalar, aten.mse_loss_backward.default, aten.smooth_l1_loss_backward.default)
"""Operators that allocate a contiguous result whatever the operands' layouts."""

CHOOSING: Final = (aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf)
"""Operators whose first operand is a condition, which is never converted."""

SUBTRACTING: Final = tuple(
    [
        getattr(packet, overload)
        for packet in (aten.sub, aten.sub_, aten.rsub)
        for overload in ("Tensor", "Scalar")
        if overload in packet.overloads()
    ]
)
"""Operators whose kernels reject booleans, where torch's meta functions accept a bool scalar."""


def overloads(suffix: str = "") -> Sequence[object]:
    """The functional operators of this family with one result.

    With the suffix `_`, those that write to their first operand.
    """
    found = []
    for name in NAMES.split():
        packet = getattr(aten, f"{name}{suffix}", None)
        for overload in packet.overloads() if packet is not None else ():
            operator = getattr(packet, overload)
            schema = operator._schema
            if f"{name}.{overload}" in NO_RULE or schema.is_mutable is not bool(suffix):
                continue
            if [str(result.type) for result in schema.returns] == ["Tensor"]:
                found.append(operator)
    return found


@kind_rules(*overloads())
def result_of(func: torch._ops.OpOverload, recorder: Trace, *args: object, **kwargs: object) -> object:
    """The metadata of an elementwise operator's result."""
    operands = [metadata_of(recorder, value) for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    if func in SUBTRACTING and any(is_boolean(value) for value in args[:2]):
        # raises torch's own error
        func(*[torch.ones((), dtype=value.dtype) if isinstance(value, torch.Tensor) else value for value in args])
    if func in REVERSED:
        operands.reverse()
    if func not in PACKED and converted(recorder, operands[1:] if func in CHOOSING else operands):
        return NotImplemented
    dtypes = dtypes_of(func, args, kwargs) if operands else None
    if dtypes is None:
        return NotImplemented
    if func in PACKED:
        sizes = common_sizes(recorder.env, [operand for operand in operands if operand.sizes] or operands)
        return packed(recorder, sizes, dtypes[0], operands[0].device)
    is_one = len(operands) == len(args) and all(operand is operands[0] for operand in operands)
    if is_one and all(map(is_ambiguously_channels_last, operands)):
        # without broadcasting, kernels first check whether all operands are contiguous
        return packed(recorder, operands[0].shape, dtypes[0], operands[0].device)
    return combined(recorder, operands, dtypes[0])


def is_boolean(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, torch.Tensor) and value.dtype is torch.bool)


def converted(recorder: Trace, operands: Sequence[Metadata]) -> bool:
    """Return True if a kernel first converts operands to another dtype, and the copies have other strides."""
    ranked = [operand for operand in operands if operand.sizes]
    if all(operand.dtype is ranked[0].dtype for operand in ranked):
        return False
    orders = [order_of(recorder.env, operand) for operand in ranked]
    return any(order is None or not order.dense for order in orders)


def combined(recorder: Trace, operands: Sequence[Metadata], dtype: torch.dtype) -> Metadata | object:
    """The metadata of an elementwise kernel's result."""
    ranked = [operand for operand in operands if operand.sizes]
    if not ranked:
        return recorder.kinds.laid((), (), 0, dtype, operands[0].device)
    first = ranked[0]
    device = first.device
    if any(operand.device != device for operand in ranked):
        return NotImplemented
    env = recorder.env
    if all(operand is first for operand in ranked):
        order = order_of(env, first)
        if order is not None and order.dense:
            return recorder.kinds.like(first, dtype)
    sizes = common_sizes(env, ranked)
    strides = elementwise_strides(env, ranked, sizes)
    if strides is None:
        return NotImplemented
    return recorder.kinds.laid(sizes, strides, 0, dtype, device)


@kind_rules(*overloads("_"))
def written(func: torch._ops.OpOverload, recorder: Trace, *args: object, **kwargs: object) -> object:
    """The first operand, if the others broadcast to it."""
    made = result_of(func, recorder, *args, **kwargs)
    target = metadata_of(recorder, args[0])
    if isinstance(made, Metadata):
        sizes: Sequence[Int] = made.shape
    else:
        operands = [metadata_of(recorder, value) for value in args if isinstance(value, torch.Tensor)]
        sizes = common_sizes(recorder.env, [target, *[each for each in operands if each.sizes]])
    fits = len(sizes) == len(target.shape)
    if fits and all(same(a, b) for a, b in zip(sizes, target.shape)):
        return 0 if isinstance(made, Metadata) and made.dtype is target.dtype else NotImplemented
    if not fits or not all(a is b or recorder.env.guard_or_true(a == b) for a, b in zip(sizes, target.shape)):
        # torch's meta functions in Python do not check
        raise RuntimeError(f"{func}: operands that broadcast to {tuple(sizes)} do not fit {tuple(target.shape)}")
    return NotImplemented
