"""Batch normalization with the statistics saved for its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.meta_rules.layouts import is_packed, suggested_strides
from frontends.pytorch.meta_rules.registry import kind_rules, metadata_of, packed, ruled
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.environment.layout import contiguous_strides
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten
Optional: TypeAlias = torch.Tensor | None


def given(recorder: Trace, *tensors: Optional) -> list[Any]:
    """The `Metadata` of each argument; None for an optional one that is left out."""
    return [None if tensor is None else metadata_of(recorder, tensor) for tensor in tensors]


def one_dtype(*kinds: Metadata | None) -> bool:
    """Return True if all have the same dtype and device."""
    present = [kind for kind in kinds if kind is not None]
    return all(kind.dtype is present[0].dtype and kind.device == present[0].device for kind in present)


def statistics_dtype(x: Metadata) -> torch.dtype:
    """The dtype of means and deviations: accelerators keep those of float16 and bfloat16 in float32."""
    is_rounded = x.device.type == "cpu" or x.dtype not in (torch.float16, torch.bfloat16)
    return x.dtype if is_rounded else torch.float32


@kind_rules(
    aten.native_batch_norm.default,
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit_no_training.default,
)
def batch_norm(func: torch._ops.OpOverload, recorder: Trace, *args: Any) -> object:
    """The sizes of the input, contiguous or channels-last; mean and deviation of each channel in training."""
    if func is aten._native_batch_norm_legit_no_training.default:
        args = (*args[:5], False, *args[5:])
    x, w, b, mean, variance = given(recorder, *args[:5])
    if not one_dtype(x, w, b, mean, variance):
        return NotImplemented
    strides = normalized_strides(recorder, x)
    if strides is None:
        return NotImplemented
    shapes = ruled(recorder, aten.native_batch_norm.default, x, w, b, mean, variance, *args[5:])
    _, *statistics = [packed(recorder, shape, statistics_dtype(x), x.device) for shape in shapes]
    return recorder.kinds.laid(x.shape, strides, 0, x.dtype, x.device), *statistics


def normalized_strides(recorder: Trace, x: Metadata) -> Sequence[Int] | None:
    """The strides of the CPU kernel's result: contiguous, or channels-last if the input is.

    None where torch's meta function answers.
    """
    if is_packed(x):
        return contiguous_strides(x.shape)
    if x.device.type != "cpu":
        return None
    return suggested_strides(recorder.env, x, x.shape) or contiguous_strides(x.shape)
