"""Convolution, pooling and resampling, with their gradients: of packed tensors they give packed ones.

Where the channels are innermost, the kernels choose a layout of their own, and torch's meta functions answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.operators.layouts import is_packed, is_repeated, suggested_strides
from frontends.pytorch.operators.normalization import given, gradients, one_dtype
from frontends.pytorch.operators.registry import kind_rule, metadata_of, packed, ruled, sizes_of
from frontends.pytorch.symbolic.metadata import Metadata

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder

aten: Final = torch.ops.aten


def on_cpu_and_packed(*kinds: Metadata | None) -> bool:
    """Whether the kernels give packed results for these."""
    return all(kind is None or kind.device.type == "cpu" and is_packed(kind) for kind in kinds)


@kind_rule(aten.convolution.default)
def convolution(
    recorder: Recorder, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *numbers: object
) -> object:
    """Convolution, or its transpose, over as many axes as the weight has beside its channels."""
    x, w, b = given(recorder, input, weight, bias)
    if not one_dtype(x, w, b) or not on_cpu_and_packed(x, w) or len(x.sizes) != len(w.sizes):
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.convolution.default, x, w, b, *numbers), x.dtype, x.device)


@kind_rule(aten.convolution_backward.default)
def convolution_backward(
    recorder: Recorder, grad_output: torch.Tensor, input: torch.Tensor, weight: torch.Tensor,
    bias_sizes: Sequence[int] | None, stride: object, padding: object, dilation: object, transposed: bool,
    output_padding: object, groups: int, output_mask: Sequence[bool],
) -> object:  # fmt: skip
    """Gradients like the input and the weight, and one number for each channel that came out."""
    x, w, grad = given(recorder, input, weight, grad_output)
    if not one_dtype(x, w, grad) or not on_cpu_and_packed(x, w):
        return NotImplemented
    found = gradients(recorder, output_mask, x, w)
    bias = packed(recorder, (grad.shape[1],), x.dtype, x.device) if output_mask[2] else None
    return (*found, bias)


# ---------------------------------------------------------------------- pooling


@kind_rule(aten.max_pool2d_with_indices.default)
def max_pool(recorder: Recorder, self: torch.Tensor, *args: object) -> object:
    """The largest number of each window, and where it was."""
    x = metadata_of(recorder, self)
    if not on_cpu_and_packed(x):
        return NotImplemented
    found = ruled(recorder, aten.max_pool2d_with_indices.default, x, *args)
    values, places = found if isinstance(found, tuple) and isinstance(found[0], tuple) else (found, found)
    return packed(recorder, values, x.dtype, x.device), packed(recorder, places, torch.int64, x.device)


@kind_rule(aten.adaptive_max_pool2d.default)
def adaptive_max_pool(recorder: Recorder, self: torch.Tensor, output_size: Sequence[object]) -> object:
    """The largest number of as many windows as wanted, and where it was."""
    x = metadata_of(recorder, self)
    if not on_cpu_and_packed(x):
        return NotImplemented
    found = ruled(recorder, aten.adaptive_max_pool2d.default, x, output_size)
    return packed(recorder, found, x.dtype, x.device), packed(recorder, found, torch.int64, x.device)


@kind_rule(aten._adaptive_avg_pool2d.default)
def adaptive_pool(recorder: Recorder, self: torch.Tensor, output_size: Sequence[object]) -> object:
    """The mean of as many windows as wanted."""
    x = metadata_of(recorder, self)
    if x.device.type != "cpu" or len(x.sizes) not in (3, 4):
        return NotImplemented
    sizes = (*x.shape[:-2], *sizes_of(output_size))
    strides = suggested_strides(recorder.env, x, sizes)
    return NotImplemented if strides is None else recorder.kinds.laid(sizes, strides, 0, x.dtype, x.device)


@kind_rule(
    aten.max_pool2d_with_indices_backward.default,
    aten.avg_pool2d_backward.default,
    aten._adaptive_avg_pool2d_backward.default,
    aten.adaptive_max_pool2d_backward.default,
)
def pool_backward(recorder: Recorder, grad_output: torch.Tensor, self: torch.Tensor, *args: object) -> object:
    """A gradient that lies as the input does."""
    x, grad = given(recorder, self, grad_output)
    if not one_dtype(x, grad) or not on_cpu_and_packed(x):
        return NotImplemented
    return packed(recorder, x.shape, x.dtype, x.device)


# ---------------------------------------------------------------------- resampling


@kind_rule(
    aten.upsample_nearest2d.default,
    aten.upsample_bilinear2d.default,
    aten._upsample_bilinear2d_aa.default,
    aten._upsample_bicubic2d_aa.default,
)
def resampled(recorder: Recorder, self: torch.Tensor, output_size: Sequence[object], *args: object) -> object:
    """The channels in another size."""
    x = metadata_of(recorder, self)
    if len(x.sizes) != 4 or not on_cpu_and_packed(x):
        return NotImplemented
    return packed(recorder, (*x.shape[:2], *sizes_of(output_size)), x.dtype, x.device)


@kind_rule(
    aten.upsample_nearest2d_backward.default,
    aten.upsample_bilinear2d_backward.default,
    aten._upsample_bilinear2d_aa_backward.default,
    aten._upsample_bicubic2d_aa_backward.default,
)
def resampled_backward(
    recorder: Recorder, grad_output: torch.Tensor, output_size: object, input_size: Sequence[object], *args: object
) -> object:
    """A gradient of the size before."""
    grad = metadata_of(recorder, grad_output)
    sizes = sizes_of(input_size)
    if on_cpu_and_packed(grad) or is_repeated(grad):
        return packed(recorder, sizes, grad.dtype, grad.device)
    strides = suggested_strides(recorder.env, grad, sizes) if grad.device.type == "cpu" else None
    return NotImplemented if strides is None else recorder.kinds.laid(sizes, strides, 0, grad.dtype, grad.device)
