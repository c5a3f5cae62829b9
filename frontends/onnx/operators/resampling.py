"""Resampling: images at another resolution."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from frontends.onnx.nodes import Node, NotKnown, operator
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.axes import axis_of
from shapes.rules.broadcasting import agree
from shapes.rules.windows import require_at_least
from shapes.symbolic.choices import Int, sym_int, sym_or

EXACT = 2**24
"""Every integer up to here is a float32."""


@operator("Resize", "Upsample")
def resize(node: Node) -> Shape:
    """The given sizes, or the input's sizes times the scales, rounded down."""
    x = node.shape(0)
    named = node.integers("axes")
    axes = list(range(len(x))) if named is None else [axis_of(axis, len(x), "axes") for axis in named]
    if node.kind == "Upsample" or node.version < 11:
        scales, sizes = _scales(node, 1), None
    else:
        scales, sizes = _scales(node, 2), node.needed(3, "the sizes") if node.has(3) else None
    result = list(x)
    given = sizes or scales
    if given is None or len(given) != len(axes):
        raise ShapeError(f"expected {len(axes)} sizes or scales")
    if sizes and node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotKnown("the aspect ratio is kept: which axis decides is known only when the model runs")
    for index, axis in enumerate(axes):
        result[axis] = sizes[index] if sizes else _scaled(node, x[axis], (scales or [])[index])
    for size in result:
        require_at_least(node.env, size, 0, "an axis of the output has a negative size")
    return Shape(result, dtype=x.dtype)


def _scales(node: Node, index: int) -> list[np.float32] | None:
    """The scales as float32, or None.

    Raises:
        NotKnown: they are data-dependent.
    """
    attribute = node.attributes.get("scales")
    if attribute is not None and not node.has(index):
        return [np.float32(scale) for scale in attribute]  # type: ignore[attr-defined]  # floats, says ONNX
    if not node.has(index):
        return None
    elements = node.elements(index)
    if elements is None:
        if node.shape(index) == (0,):
            return None
        raise NotKnown("the scales are known only when the model runs")
    return [np.float32(scale) for scale in elements.reshape(-1)] or None


def _scaled(node: Node, size: Int, scale: np.float32) -> Int:
    """A size times a scale, rounded down in float32 arithmetic.

    Where scale and product fit into float32's significand, the product is exact, and so is the quotient here.
    """
    if isinstance(size, int):
        return math.floor(np.float32(size) * scale)
    ratio = Fraction(float(scale))
    if ratio == 1:
        return size
    if ratio.denominator == 1 or ratio.denominator & (ratio.denominator - 1) == 0 and ratio.denominator <= 64:
        node.env.require(size * ratio.numerator < EXACT, "a size times its scale is no longer exact")
        return size * ratio.numerator // ratio.denominator
    bounded = node.unknown_size()
    node.env.postulate(bounded <= sym_int(size * math.ceil(ratio)))
    return bounded


@operator("GridSample")
def grid_sample(node: Node) -> Shape:
    """Batch and channels of the input, then the sizes of the grid."""
    x, grid = node.shape(0), node.shape(1)
    agree(node.env, x[0], grid[0], "input and grid have different batches")
    agree(node.env, grid[-1], len(x) - 2, "a place of the grid has not one number for each axis")
    return Shape((*x[:2], *grid[1:-1]), dtype=x.dtype)


@operator("AffineGrid")
def affine_grid(node: Node) -> Shape:
    """A coordinate for each pixel."""
    sizes = node.needed(1, "the sizes")
    return Shape((sizes[0], *sizes[2:], len(sizes) - 2), dtype=node.shape(0).dtype)


@operator("CenterCropPad")
def center_crop_pad(node: Node) -> Shape:
    """The given sizes along some axes."""
    x, sizes = node.shape(0), node.needed(1, "the sizes")
    axes = node.integers("axes") or list(range(len(x)))
    result = list(x)
    for axis, size in zip(axes, sizes):
        result[axis_of(axis, len(x), "axes")] = size
    return Shape(result, dtype=x.dtype)


@operator("DFT")
def dft(node: Node) -> Shape:
    """The input with a complex number for each frequency."""
    x = node.shape(0)
    by_default = 1 if node.version < 20 else -2
    axis = axis_of(node.plain(2, "the axis")[0] if node.has(2) else node.integer("axis", by_default), len(x))
    node.env.require(sym_or(x[-1] == 1, x[-1] == 2), "the last axis holds neither real nor complex numbers")
    length: Int = x[axis]
    if node.has(1):
        numbers = node.numbers(1)
        length = node.unknown_size() if numbers is None else numbers[0]
    onesided, inverse = node.integer("onesided"), node.integer("inverse")
    if onesided:
        length = 2 * (length - 1) if inverse and not node.has(1) else length if inverse else length // 2 + 1
    return Shape((*x[:axis], length, *x[axis + 1 : -1], 1 if onesided and inverse else 2), dtype=x.dtype)
