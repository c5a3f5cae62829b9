"""Convolution.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, c, s = env.sizes("b c s")
>>> rules["conv1d"](env, (b, c, s), (8, 4, 5), padding=1, groups=2)
Shape(b, 8, s - 2)
>>> [guard.text for guard in env.guards()]
['c == 8', 's >= 3']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import agree, known
from shapes.rules.expectations import expect_rank
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import (
    at_least,
    per_axis,
    positive,
    reaches,
    require_at_least,
    split,
    window_count,
    window_reach,
)
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_or

Ints = Int | Sequence[Int]


CONV: Final = "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1"
CONV_TRANSPOSE: Final = "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1"


@rule("conv1d", schema=CONV, axes=1)
@rule("conv2d", schema=CONV, axes=2)
@rule("conv3d", schema=CONV, axes=3)
def conv(
    env: ShapeEnv, axes: int, input: Shape, weight: Shape, bias: Shape | None,
    stride: Ints, padding: Ints | str, dilation: Ints, groups: int,
) -> Shape:  # fmt: skip
    """(batch, out channels, windows...) of (batch, in channels, sizes...); the batch may be missing."""
    batch, channels, sizes = _split(input, weight, axes)
    strides, dilations = per_axis(stride, axes, "stride"), per_axis(dilation, axes, "dilation")
    at_least(env, strides, 1, "stride")
    _dilated(env, dilations, batch, weight[1])
    out, kernel = weight[0], weight[2:]
    _grouped(env, out, groups)
    agree(env, weight[1] * groups, channels, "input channels are not groups times those of the weight")
    _biased(env, bias, out)
    if not reaches(weight[1], 1) and not known(env, weight[1] >= 1):
        out = sym_ite(weight[1] == 0, 0, out)  # torch: no channels in, none out
    if padding == "same":
        if any(step != 1 for step in strides):
            raise ShapeError("padding='same' needs stride=1")
        positive(env, sizes, "an axis of the input is empty")
        positive(env, kernel, "an axis of the kernel is empty")
        return Shape((*batch, out, *sizes), dtype=input.dtype)
    if padding == "valid":
        padding = 0
    elif isinstance(padding, str):
        raise ShapeError(f"padding={padding!r}: expected numbers, 'same' or 'valid'")
    paddings = per_axis(padding, axes, "padding")
    at_least(env, paddings, 0, "padding")
    windows: list[Int] = []
    for size, extent, pad, step, factor in zip(sizes, kernel, paddings, strides, dilations, strict=True):
        padded, reach = size + 2 * pad, window_reach(extent, factor)
        require_at_least(env, padded, reach, "the kernel is larger than the padded input")
        if not reaches(extent, 1):
            env.require(sym_or(extent >= 1, weight[1] == 0), "an axis of the kernel is empty")
        if not reaches(reach - 2 * pad, 1) and not reaches(size, 1):
            env.require(sym_or(size >= 1, _idle(batch, weight[1])), "an axis of the input is empty")
        windows.append(window_count(padded, reach, step))
    return Shape((*batch, out, *windows), dtype=input.dtype)


@rule("conv_transpose1d", schema=CONV_TRANSPOSE, axes=1)
@rule("conv_transpose2d", schema=CONV_TRANSPOSE, axes=2)
@rule("conv_transpose3d", schema=CONV_TRANSPOSE, axes=3)
def conv_transpose(
    env: ShapeEnv, axes: int, input: Shape, weight: Shape, bias: Shape | None,
    stride: Ints, padding: Ints, output_padding: Ints, groups: int, dilation: Ints,
) -> Shape:  # fmt: skip
    """(batch, out channels, sizes...) from which a convolution makes an input; the batch may be missing."""
    batch, channels, sizes = _split(input, weight, axes)
    strides, dilations = per_axis(stride, axes, "stride"), per_axis(dilation, axes, "dilation")
    paddings, extras = per_axis(padding, axes, "padding"), per_axis(output_padding, axes, "output_padding")
    at_least(env, strides, 1, "stride")
    _dilated(env, dilations, batch)
    at_least(env, paddings, 0, "padding")
    at_least(env, extras, 0, "output_padding")
    out = weight[1] * groups
    _grouped(env, weight[0], groups)
    agree(env, weight[0], channels, "input channels are not those of the weight")
    positive(env, weight[1:], "an axis of the weight is empty")
    _biased(env, bias, out)
    results: list[Int] = []
    for axis in range(axes):
        extent, extra = weight[2 + axis], extras[axis]
        fits = sym_or(extra < strides[axis], extra < dilations[axis])
        if fits is not True:
            env.require(sym_or(fits, _idle(batch)), "output_padding is neither below stride nor dilation")
        if not reaches(sizes[axis], 1):
            env.require(sym_or(sizes[axis] >= 1, _idle(batch)), "an axis of the input is empty")
        result = (sizes[axis] - 1) * strides[axis] - 2 * paddings[axis] + window_reach(extent, dilations[axis]) + extra
        require_at_least(env, result, 0, "an axis of the output has a negative size")
        results.append(result)
    return Shape((*batch, out, *results), dtype=input.dtype)


def _split(x: Shape, weight: Shape, axes: int) -> tuple[tuple[Int, ...], Int, tuple[Int, ...]]:
    """Batch, channels and sizes of an input, the weight's rank being as it should."""
    expect_rank(weight, axes + 2, "weight")
    return split(x, axes)


def _idle(batch: Sequence[Int], channels: Int = 1) -> Truth:
    """Without a batch or without channels there is nothing to compute, and torch checks less."""
    return sym_or(channels == 0, *[size == 0 for size in batch])


def _dilated(env: ShapeEnv, dilations: Sequence[Int], batch: Sequence[Int], channels: Int = 1) -> None:
    """Dilations are positive where it matters."""
    for dilation in dilations:
        if not isinstance(dilation, int) or dilation < 1:
            env.require(sym_or(dilation >= 1, _idle(batch, channels)), "dilation is not positive")


def _grouped(env: ShapeEnv, channels: Int, groups: int) -> None:
    """The weight's first axis has the same number of channels for each group, and at least one."""
    at_least(env, (groups,), 1, "groups")
    positive(env, (channels,), "the first axis of the weight is empty")
    if groups != 1:
        env.require(channels % groups == 0, "the first axis of the weight is not divisible by groups")


def _biased(env: ShapeEnv, bias: Shape | None, out: Int) -> None:
    """The bias is a vector of the output channels."""
    if bias is None:
        return
    expect_rank(bias, 1, "bias")
    agree(env, bias[0], out, "bias has not one number for each output channel")


@rule("conv_tbc")
def conv_tbc(env: ShapeEnv, input: Shape, weight: Shape, bias: Shape, pad: Int = 0) -> Shape:
    """Windows, batch, output channels of (time, batch, in channels)."""
    for name, shape, rank in (("input", input, 3), ("weight", weight, 3), ("bias", bias, 1)):
        expect_rank(shape, rank, name)
    agree(env, input[2], weight[1], "input channels are not those of the weight")
    agree(env, bias[0], weight[2], "bias has not one number for each output channel")
    windows = input[0] + 2 * pad - weight[0] + 1
    require_at_least(env, windows, 0, "the kernel is larger than the padded input")
    return Shape((windows, input[1], weight[2]), dtype=input.dtype)
