"""Convolution and pooling: sliding windows, with separate padding before and after each axis."""

from __future__ import annotations

from collections.abc import Sequence

from frontends.onnx.nodes import Node, operator
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.broadcasting import agree, agree_all
from shapes.rules.windows import require_at_least, window_reach
from shapes.symbolic.choices import Int, sym_max, sym_min, sym_or

Pads = list[tuple[int, int]] | None
"""Padding before and after each axis; None for SAME padding."""


def _pads(node: Node, axes: int) -> Pads:
    """The padding of each axis."""
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        return None
    if mode == "VALID":
        return [(0, 0)] * axes
    pads = node.integers("pads") or [0] * (2 * axes)
    if len(pads) != 2 * axes:
        raise ShapeError(f"pads has {len(pads)} numbers: expected {2 * axes}")
    return list(zip(pads[:axes], pads[axes:], strict=True))


def _padded(x: Shape, pads: Sequence[tuple[int, int]]) -> Shape:
    """The input with its padding."""
    sizes = [size + before + behind for size, (before, behind) in zip(x[2:], pads, strict=True)]
    return Shape((*x[:2], *sizes), dtype=x.dtype)


def _spatial(x: Shape) -> int:
    if len(x) < 3:
        raise ShapeError(f"the input has {len(x)} axes: expected batch, channels and at least one more")
    return len(x) - 2


@operator("Conv", "ConvInteger", "QLinearConv", "DeformConv")
def conv(node: Node) -> Shape:
    """Batch, output channels, then one element for each window."""
    x, weight = node.shape(0), node.shape(3 if node.kind == "QLinearConv" else 1)
    axes = _spatial(x)
    bias = node.optional_shape(2) if node.kind == "Conv" else None
    pads, stride = _pads(node, axes), node.integers("strides") or [1] * axes
    dilation, groups = node.integers("dilations") or [1] * axes, node.integer("group", 1)
    dtype = {"ConvInteger": "int32"}.get(node.kind, x.dtype)
    if pads is None:
        fitting = Shape((*x[:2], *weight[2:]))
        channels = node.one(f"conv{axes}d", fitting, weight, bias, groups=groups)
        return Shape((*channels[:2], *[-(-size // step) for size, step in zip(x[2:], stride)]), dtype=dtype)
    found = node.one(f"conv{axes}d", _padded(x, pads), weight, bias, stride, 0, dilation, groups)
    return Shape(found, dtype=dtype)


@operator("ConvTranspose")
def conv_transpose(node: Node) -> Shape:
    """The sizes that a convolution would map to the input's, or the requested ones."""
    x, weight, bias = node.shape(0), node.shape(1), node.optional_shape(2)
    axes = _spatial(x)
    pads, stride = _pads(node, axes), node.integers("strides") or [1] * axes
    dilation, groups = node.integers("dilations") or [1] * axes, node.integer("group", 1)
    extra = node.integers("output_padding") or [0] * axes
    found = node.one(f"conv_transpose{axes}d", x, weight, bias, stride, 0, extra, groups, dilation)
    wanted = node.integers("output_shape")
    if wanted is not None:
        sizes: list[Int] = [*wanted[-axes:]]
        for size, whole, given, step in zip(sizes, found[2:], x[2:], stride):
            # output padding must be less than the stride
            fits = sym_or(whole >= size, size - whole < step)
            node.env.require(sym_or(fits, given == 0), "output_shape is more than the windows reach")
    elif pads is None:
        sizes = [sym_min(size * step, whole) for size, step, whole in zip(x[2:], stride, found[2:])]
    else:
        sizes = [size - before - behind for size, (before, behind) in zip(found[2:], pads)]
        for size in sizes:
            require_at_least(node.env, size, 0, "padding takes more than there is")
    return Shape((*found[:2], *sizes), dtype=x.dtype)


@operator("MaxPool", "AveragePool", "LpPool")
def pool(node: Node) -> list[Shape]:
    """Batch, channels, then one element for each window; twice if indices are requested."""
    x = node.shape(0)
    axes = _spatial(x)
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != axes:
        raise ShapeError(f"kernel_shape={kernel}: expected {axes} numbers")
    stride, dilation = node.integers("strides") or [1] * axes, node.integers("dilations") or [1] * axes
    pads, up = _pads(node, axes), bool(node.integer("ceil_mode"))
    windows: list[Int] = []
    for axis in range(axes):
        size, step, reach = x[axis + 2], stride[axis], window_reach(kernel[axis], dilation[axis])
        if pads is None:
            windows.append(-(-size // step))
            continue
        before, behind = pads[axis]
        room = size + before + behind - reach
        require_at_least(node.env, room, 1 - step if up else 0, "the input is too small for a window")
        if up:
            # the last window may be partial, but must start before the padding at the end
            windows.append(sym_min(room + step - 1, size + before - 1) // step + 1)
        else:
            windows.append(room // step + 1)
    values = Shape((*x[:2], *windows), dtype=x.dtype)
    return [values, Shape(values, dtype="int64")][: node.outputs]


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(node: Node) -> Shape:
    """Reduce every axis after batch and channels to one element."""
    x = node.shape(0)
    return Shape((*x[:2], *[1] * _spatial(x)), dtype=x.dtype)


@operator("MaxUnpool")
def max_unpool(node: Node) -> Shape:
    """The sizes before pooling."""
    x, places = node.shape(0), node.shape(1)
    axes = _spatial(x)
    if len(x) != len(places):
        raise ShapeError(f"there are {len(places)} axes of places: expected {len(x)}")
    agree_all(node.env, x, places, "there is not one place for each element")
    if node.has(2):
        return Shape(node.plain(2, "the output sizes"), dtype=x.dtype)
    kernel, stride = node.integers("kernel_shape") or [], node.integers("strides") or [1] * axes
    pads = _pads(node, axes) or [(0, 0)] * axes
    sizes = [(x[i + 2] - 1) * stride[i] + kernel[i] - sum(pads[i]) for i in range(axes)]
    return Shape((*x[:2], *[sym_max(size, 0) for size in sizes]), dtype=x.dtype)


@operator("MaxRoiPool", "RoiAlign")
def pooled_regions(node: Node) -> Shape:
    """One window of a fixed size for each region."""
    x, regions = node.shape(0), node.shape(1)
    agree(node.env, regions[1], 5 if node.kind == "MaxRoiPool" else 4, "a region has another number of corners")
    if node.kind == "RoiAlign":
        agree(node.env, regions[0], node.shape(2)[0], "there is not one batch for each region")
    if node.kind == "MaxRoiPool":
        height, width = node.integers("pooled_shape") or [1, 1]
    else:
        height, width = node.integer("output_height", 1), node.integer("output_width", 1)
    return Shape((regions[0], x[1], height, width), dtype=x.dtype)
