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
from typing import TYPE_CHECKING

from shapes.choices import Int
from shapes.errors import ShapeError
from shapes.rules.broadcasting import same
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import at_least, per_axis, window_count, window_reach

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

Ints = Int | Sequence[Int]


def convolved(
    env: ShapeEnv,
    axes: int,
    x: Shape,
    weight: Shape,
    bias: Shape | None,
    stride: Ints,
    padding: Ints | str,
    dilation: Ints,
    groups: int,
) -> Shape:
    """(batch, out channels, windows...) of (batch, in channels, sizes...); the batch may be missing."""
    batch, channels, sizes = _split(x, weight, axes)
    strides, dilations = per_axis(stride, axes, "stride"), per_axis(dilation, axes, "dilation")
    at_least(strides, 1, "stride")
    at_least(dilations, 1, "dilation")
    at_least((groups,), 1, "groups")
    out, kernel = weight[0], weight[2:]
    env.require(weight[1] * groups == channels, "input channels are not groups times those of the weight")
    if groups != 1:
        env.require(out % groups == 0, "output channels are not divisible by groups")
    if bias is not None:
        if len(bias) != 1:
            raise ShapeError(f"bias has {len(bias)} axes: expected 1")
        if not same(bias[0], out):
            env.require(bias[0] == out, "bias has not one number for each output channel")
    if padding == "same":
        if any(step != 1 for step in strides):
            raise ShapeError("padding='same' needs stride=1")
        return Shape((*batch, out, *sizes), dtype=x.dtype)
    if padding == "valid":
        padding = 0
    elif isinstance(padding, str):
        raise ShapeError(f"padding={padding!r}: expected numbers, 'same' or 'valid'")
    paddings = per_axis(padding, axes, "padding")
    at_least(paddings, 0, "padding")
    windows: list[Int] = []
    for axis in range(axes):
        size, reach = sizes[axis] + 2 * paddings[axis], window_reach(kernel[axis], dilations[axis])
        env.require(reach <= size, "the kernel is larger than the padded input")
        windows.append(window_count(size, reach, strides[axis]))
    return Shape((*batch, out, *windows), dtype=x.dtype)


def _split(x: Shape, weight: Shape, axes: int) -> tuple[tuple[Int, ...], Int, tuple[Int, ...]]:
    """Batch, channels and sizes of an input."""
    if not axes + 1 <= len(x) <= axes + 2:
        raise ShapeError(f"input has {len(x)} axes: expected {axes + 1} or {axes + 2}")
    if len(weight) != axes + 2:
        raise ShapeError(f"weight has {len(weight)} axes: expected {axes + 2}")
    return x[: -axes - 1], x[-axes - 1], x[-axes:]


@rule("conv1d")
def conv1d(
    env: ShapeEnv, input: Shape, weight: Shape, bias: Shape | None = None,
    stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Shape:  # fmt: skip
    """One axis of windows after batch and output channels."""
    return convolved(env, 1, input, weight, bias, stride, padding, dilation, groups)


@rule("conv2d")
def conv2d(
    env: ShapeEnv, input: Shape, weight: Shape, bias: Shape | None = None,
    stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Shape:  # fmt: skip
    """Two axes of windows after batch and output channels."""
    return convolved(env, 2, input, weight, bias, stride, padding, dilation, groups)


@rule("conv3d")
def conv3d(
    env: ShapeEnv, input: Shape, weight: Shape, bias: Shape | None = None,
    stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1,
) -> Shape:  # fmt: skip
    """Three axes of windows after batch and output channels."""
    return convolved(env, 3, input, weight, bias, stride, padding, dilation, groups)
