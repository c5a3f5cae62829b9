"""Sliding blocks as an axis of their own (im2col), and back (col2im).

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, c, h, w = env.sizes("b c h w", lo=4)
>>> blocks = rules["unfold"](env, (b, c, h, w), (2, 2), stride=2)
>>> blocks
Shape(b, 4*c, (h//2)*(w//2))
>>> rules["fold"](env, blocks, (h, w), (2, 2), stride=2)
Shape(b, c, h, w)
>>> rules["Tensor.unfold"](env, (b, h), 1, 3, 2)
Shape(b, ceildiv(h, 2) - 1, 3)
>>> env.guards()
()
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.rules.axes import axis_of, replaced
from shapes.rules.broadcasting import agree
from shapes.rules.expectations import expect_axes
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import at_least, exactly, positive, require_at_least, window_count, window_reach
from shapes.symbolic.choices import Int

Ints = Int | Sequence[Int]


def _blocks(
    env: ShapeEnv, sizes: Sequence[Int], kernel: Sequence[Int], dilation: Ints, padding: Ints, stride: Ints
) -> list[Int]:
    """The number of blocks that fit along each of two axes."""
    dilations, paddings = exactly(dilation, 2, "dilation"), exactly(padding, 2, "padding")
    strides = exactly(stride, 2, "stride")
    positive(env, kernel, "the kernel has an axis without elements")
    at_least(env, dilations, 1, "dilation")
    at_least(env, paddings, 0, "padding")
    at_least(env, strides, 1, "stride")
    counts: list[Int] = []
    for size, extent, factor, pad, step in zip(sizes, kernel, dilations, paddings, strides, strict=True):
        reach, padded = window_reach(extent, factor), size + 2 * pad
        require_at_least(env, padded, reach, "no block fits into an axis")
        counts.append(window_count(padded, reach, step))
    return counts


@rule("unfold")
def unfold(
    env: ShapeEnv, input: Shape, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Shape:
    """(batch, channels times elements of a block, blocks); the batch may be missing."""
    expect_axes(input, 3, "input", most=4)
    kernel = exactly(kernel_size, 2, "kernel_size")
    positive(env, input[-3:], "an axis of the input is empty")
    rows, columns = _blocks(env, input[-2:], kernel, dilation, padding, stride)
    return Shape((*input[:-3], input[-3] * (kernel[0] * kernel[1]), rows * columns), dtype=input.dtype)


@rule("fold")
def fold(
    env: ShapeEnv, input: Shape, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0,
    stride: Ints = 1,
) -> Shape:  # fmt: skip
    """(batch, channels, output size); the batch may be missing."""
    expect_axes(input, 2, "input", most=3)
    sizes, kernel = exactly(output_size, 2, "output_size"), exactly(kernel_size, 2, "kernel_size")
    positive(env, input[-2:-1], "input has no channels")
    positive(env, sizes, "output_size is not positive")
    rows, columns = _blocks(env, sizes, kernel, dilation, padding, stride)
    agree(env, input[-1], rows * columns, "input has not one column for each block")
    elements = kernel[0] * kernel[1]
    env.require(input[-2] % elements == 0, "the channels of input are not divisible by the elements of a block")
    return Shape((*input[:-2], input[-2] // elements, *sizes), dtype=input.dtype)


@rule("Tensor.unfold")
def tensor_unfold(env: ShapeEnv, self: Shape, dimension: int, size: Int, step: Int) -> Shape:
    """The windows of an axis in its place, their elements as a new last axis."""
    axis = axis_of(dimension, len(self), "dimension")
    require_at_least(env, size, 0, "size is negative")
    positive(env, (step,), "step is not positive")
    if not self:
        env.require(size <= 1, "size is larger than the axis")
        strides = None if self.strides is None else (1,)
        return Shape((size,), dtype=self.dtype, strides=strides, storage_offset=self.storage_offset)
    require_at_least(env, self[axis], size, "size is larger than the axis")
    sizes = (*replaced(self, axis, window_count(self[axis], size, step)), size)
    if self.strides is None:
        return Shape(sizes, dtype=self.dtype)
    inner = self.strides[axis]
    outer = (*replaced(self.strides, axis, inner * step), inner)
    return Shape(sizes, dtype=self.dtype, strides=outer, storage_offset=self.storage_offset)
