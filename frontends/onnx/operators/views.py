"""Reshaping, transposition and broadcasting: the same elements under other sizes."""

from __future__ import annotations

import numpy as np

from frontends.onnx.nodes import Node, operator
from frontends.onnx.values import Value, computed, vector
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.axes import axes_of
from shapes.rules.broadcasting import agree, broadcast, same
from shapes.rules.structure import at_least
from shapes.rules.windows import window_count, window_reach
from shapes.symbolic.choices import Int, sym_ite


@operator("Shape")
def shape(node: Node) -> Value:
    """The sizes of the input as a vector, or some of them."""
    x = node.shape(0)
    start, end = node.integer("start"), node.attributes.get("end")
    return vector(x.sizes[start : None if end is None else node.integer("end")])


@operator("Size")
def size(node: Node) -> Value:
    """The number of elements."""
    return computed(numel(node.shape(0)), "int64")


@operator("Reshape")
def reshape(node: Node) -> Value:
    """The target, in which 0 copies the input's size and -1 is inferred."""
    x = node.shape(0)
    target = node.integers("shape") if node.version < 5 else node.numbers(1)
    if target is None:
        return Value(Shape([node.unknown_size() for _ in range(node.count(1))], dtype=x.dtype))
    if not node.integer("allowzero"):
        target = [_kept(x, axis, size) for axis, size in enumerate(target)]
    result = node.one("reshape", x, target)
    return _moved(node, Shape(result, dtype=x.dtype))


def _kept(x: Shape, axis: int, size: Int) -> Int:
    """A size of the target; the input's if it is 0."""
    if axis < len(x):
        if isinstance(size, int):
            return x[axis] if size == 0 else size
        if not same(size, x[axis]) and not at_least(size, 1):
            return sym_ite(size == 0, x[axis], size)
    elif isinstance(size, int) and size == 0:
        raise ShapeError(f"size 0 of axis {axis} stands for an axis that the input does not have")
    return size


def _moved(node: Node, result: Shape) -> Value:
    """Reshape the input's elements."""
    return node.moved(result, lambda elements: elements.reshape(result.sizes))


@operator("Flatten")
def flatten(node: Node) -> Value:
    """A matrix: the axes before one, and those from it on."""
    x = node.shape(0)
    axis = node.integer("axis", 1)
    if not -len(x) <= axis <= len(x):
        raise ShapeError(f"axis={axis}: expected one of {-len(x)} to {len(x)}")
    axis = axis + len(x) if axis < 0 else axis
    return _moved(node, Shape((numel(x[:axis]), numel(x[axis:])), dtype=x.dtype))


@operator("Transpose")
def transpose(node: Node) -> Value:
    """The axes in another order, reversed if none is given."""
    x, order = node.shape(0), node.integers("perm")
    if order is None:
        order = list(reversed(range(len(x))))
    result = Shape(node.one("permute", x, order), dtype=x.dtype)
    return node.moved(result, lambda elements: elements.transpose(order))


@operator("Squeeze")
def squeeze(node: Node) -> Value:
    """The input without the given axes of size 1, or without all of size 1."""
    x = node.shape(0)
    axes = node.listed(1, "axes", "axes")
    if axes is None:
        return _moved(node, Shape(node.one("squeeze", x), dtype=x.dtype))
    gone = axes_of(axes, len(x), "axes")
    for axis in gone:
        node.env.require(x[axis] == 1, f"axis {axis} has another size than 1")
    return _moved(node, Shape([size for axis, size in enumerate(x) if axis not in gone], dtype=x.dtype))


@operator("Unsqueeze")
def unsqueeze(node: Node) -> Value:
    """The input with axes of size 1 inserted at positions of the result."""
    x = node.shape(0)
    axes = node.listed(1, "axes", "axes") or []
    rank = len(x) + len(axes)
    places = axes_of(axes, rank, "axes")
    sizes = iter(x)
    return _moved(node, Shape([1 if axis in places else next(sizes) for axis in range(rank)], dtype=x.dtype))


@operator("Expand")
def expand(node: Node) -> Value:
    """The sizes to which the input and the target broadcast."""
    x, target = node.shape(0), node.numbers(1)
    if target is None:
        rank = max(node.count(1), len(x))
        kept = [size if isinstance(size, int) and size > 1 else None for size in (1,) * (rank - len(x)) + x.sizes]
        return Value(Shape([node.unknown_size() if size is None else size for size in kept], dtype=x.dtype))
    result = Shape(broadcast(node.env, x, target), dtype=x.dtype)
    sizes = [size for size in result if isinstance(size, int)]
    return node.moved(result, lambda elements: np.broadcast_to(elements, sizes))


@operator("DepthToSpace", "SpaceToDepth")
def shuffled_pixels(node: Node) -> Shape:
    """Move channels to pixels, or back."""
    x, rule = node.shape(0), "pixel_shuffle" if node.kind == "DepthToSpace" else "pixel_unshuffle"
    return Shape(node.one(rule, x, node.integer("blocksize")), dtype=x.dtype)


@operator("Col2Im")
def fold(node: Node) -> Shape:
    """Combine blocks to an image."""
    x, image, block = node.shape(0), node.needed(1, "the sizes of the image"), node.needed(2, "the sizes of blocks")
    axes = len(block)
    stride, dilation = node.integers("strides") or [1] * axes, node.integers("dilations") or [1] * axes
    pads = node.integers("pads") or [0] * 2 * axes
    blocks: Int = 1
    for axis in range(axes):
        padded = image[axis] + pads[axis] + pads[axis + axes]
        blocks = blocks * window_count(padded, window_reach(block[axis], dilation[axis]), stride[axis])
    agree(node.env, x[2], blocks, "another number of blocks than fit into the image")
    node.env.require(x[1] % numel(block) == 0, "channels are not a multiple of the elements of a block")
    return Shape((x[0], x[1] // numel(block), *image), dtype=x.dtype)


