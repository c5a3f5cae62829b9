"""Convolution, pooling and resampling, with their gradients: contiguous inputs have contiguous results.

For channels-last inputs the kernels choose a layout of their own, and torch's meta functions answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.registry import given, kind_rule, metadata_of, one_dtype, packed, ruled, sizes_of
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.env import ShapeEnv
from shapes.environment.layout import channels_last_strides
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.memory_order import (
    is_by_row,
    is_packed,
    is_repeated,
    strides_of,
    suggested_strides,
    suggests_channels_last,
)
from shapes.rules.windows import positive
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten


def on_cpu_and_packed(*kinds: Metadata | None) -> bool:
    """Return True if the kernels return contiguous results for these."""
    return all(kind is None or kind.device.type == "cpu" and is_by_row(kind.shape) for kind in kinds)


def image(recorder: Trace, sizes: Sequence[Int], *kinds: Metadata) -> Metadata | object:
    """The metadata of an image of these sizes computed from images, or from values for their windows: channels-last if
    one of them is, where the operands determine it."""
    known = [
        suggests_channels_last(recorder.env, kind.shape) if len(kind.sizes) == 4 or is_packed(kind.shape) else None
        for kind in kinds
    ]
    if None in known or kinds[0].device.type != "cpu":
        return NotImplemented
    strides = channels_last_strides(sizes) if any(known) else None
    return recorder.kinds.laid(sizes, strides, 0, kinds[0].dtype, kinds[0].device)


@kind_rule(aten.convolution.default)
def convolution(
    recorder: Trace, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *numbers: object
) -> object:
    """Convolution, or its transpose, over the weight's spatial axes."""
    x, w, b = given(recorder, input, weight, bias)
    if not one_dtype(x, w, b) or len(x.sizes) != len(w.sizes):
        return NotImplemented
    return laid(recorder, ruled(recorder, aten.convolution.default, x, w, b, *numbers), x, w)


def laid(recorder: Trace, sizes: Sequence[Int], x: Metadata, weight: Metadata) -> Metadata | object:
    """The result of a convolution of an image, in its layout."""
    if len(x.sizes) == 3 and x.device.type == "cpu":
        return of_row(recorder, sizes, weight)
    return image(recorder, sizes, x, weight)


def of_row(recorder: Trace, sizes: Sequence[Int], weight: Metadata) -> Metadata | object:
    """The result of a 1-D convolution, which torch runs as a 2-D one with a single row: the weight alone determines the
    layout."""
    strides = strides_of(weight.shape)
    outputs, channels, length = weight.shape
    rows = (strides[0], strides[1], length * strides[2], strides[2])
    by_channel = suggests_channels_last(recorder.env, Shape((outputs, channels, 1, length), strides=rows))
    if by_channel is None:
        return NotImplemented
    laid = channels_last_strides((*sizes[:-1], 1, sizes[-1])) if by_channel else None
    return recorder.kinds.laid(sizes, None if laid is None else (*laid[:-2], laid[-1]), 0, weight.dtype, weight.device)


@kind_rule(aten.convolution_backward.default)
def convolution_backward(
    recorder: Trace, grad_output: torch.Tensor, input: torch.Tensor, weight: torch.Tensor,
    bias_sizes: Sequence[int] | None, stride: object, padding: object, dilation: object, transposed: bool,
    output_padding: object, groups: int, output_mask: Sequence[bool],
) -> object:  # fmt: skip
    """Gradients like the input and the weight, and one number for each output channel."""
    x, w, grad = given(recorder, input, weight, grad_output)
    if not one_dtype(x, w, grad):
        return NotImplemented
    found = [laid(recorder, kind.shape, x, w) if wanted else None for kind, wanted in zip((x, w), output_mask)]
    if NotImplemented in found:
        return NotImplemented
    bias = packed(recorder, (grad.shape[1],), x.dtype, x.device) if output_mask[2] else None
    return (*found, bias)


# ---------------------------------------------------------------------- pooling


@kind_rule(
    aten.max_pool2d_with_indices_backward.default,
    aten.avg_pool2d_backward.default,
    aten._adaptive_avg_pool2d_backward.default,
    aten.adaptive_max_pool2d_backward.default,
)
def pool_backward(recorder: Trace, grad_output: torch.Tensor, self: torch.Tensor, *args: object) -> object:
    """A gradient with the input's layout."""
    x, grad = given(recorder, self, grad_output)
    if not one_dtype(x, grad) or not on_cpu_and_packed(x):
        return NotImplemented
    return packed(recorder, x.shape, x.dtype, x.device)


# ---------------------------------------------------------------------- resampling


def require_points(env: ShapeEnv, sizes: Sequence[Int], output_size: Sequence[Int]) -> None:
    """Require that an image and its result are not empty, batches aside.

    Raises:
        RuntimeError: one is empty, as in the kernels; torch's meta functions accept it.
    """
    try:
        positive(env, (*sizes[1:], *output_size), "an image without points is resized, or to none")
    except ShapeError as error:
        raise RuntimeError(str(error)) from error


RESAMPLING: Final = (
    *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    *("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
)
"""The operators that give an image in another size."""
PACKED_GRADIENT: Final = ("upsample_bicubic2d", "upsample_nearest3d", "_upsample_nearest_exact3d")
"""The operators whose gradient is contiguous, whatever it is computed from."""


@kind_rule(
    *[getattr(aten, name).default for name in RESAMPLING],
    aten._upsample_bilinear2d_aa.default,
    aten._upsample_bicubic2d_aa.default,
)
def resampled(recorder: Trace, self: torch.Tensor, output_size: Sequence[object], *args: object) -> object:
    """The image resampled; the layout is the same on all devices."""
    x, sizes = metadata_of(recorder, self), sizes_of(output_size)
    if len(x.sizes) != len(sizes) + 2:
        return NotImplemented
    require_points(recorder.env, x.shape, sizes)
    sizes = (*x.shape[:2], *sizes)
    if is_by_row(x.shape):
        return packed(recorder, sizes, x.dtype, x.device)
    strides = None if len(sizes) == 4 else suggested_strides(recorder.env, x.shape, sizes)
    return NotImplemented if strides is None else recorder.kinds.laid(sizes, strides, 0, x.dtype, x.device)


@kind_rule(
    *[getattr(aten, f"{name}_backward").default for name in RESAMPLING if name not in PACKED_GRADIENT],
    aten._upsample_bilinear2d_aa_backward.default,
    aten._upsample_bicubic2d_aa_backward.default,
)
def resampled_backward(
    recorder: Trace, grad_output: torch.Tensor, output_size: object, input_size: Sequence[object], *args: object
) -> object:
    """A gradient of the original size; the layout is the same on all devices."""
    grad = metadata_of(recorder, grad_output)
    sizes = sizes_of(input_size)
    if is_by_row(grad.shape) or is_repeated(grad.shape):
        return packed(recorder, sizes, grad.dtype, grad.device)
    strides = suggested_strides(recorder.env, grad.shape, sizes)
    return NotImplemented if strides is None else recorder.kinds.laid(sizes, strides, 0, grad.dtype, grad.device)


@kind_rule(*[getattr(aten, f"{name}_backward").default for name in PACKED_GRADIENT])
def packed_gradient(
    recorder: Trace, grad_output: torch.Tensor, output_size: object, input_size: Sequence[object], *args: object
) -> object:
    """A contiguous gradient of the original size."""
    grad = metadata_of(recorder, grad_output)
    return packed(recorder, sizes_of(input_size), grad.dtype, grad.device)
