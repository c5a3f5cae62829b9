"""Operators with data-dependent output sizes, and selection by value."""

from __future__ import annotations

from frontends.onnx.nodes import Node, operator
from shapes.environment.layout import numel
from shapes.rules import Shape
from shapes.rules.broadcasting import agree
from shapes.symbolic.choices import Int, sym_min


@operator("NonZero")
def nonzero(node: Node) -> Shape:
    """A column of coordinates for each element that is not 0."""
    x = node.shape(0)
    coordinates = node.one("nonzero", Shape(x))
    return Shape((len(x) or 1, coordinates[0]), dtype="int64")


@operator("TopK")
def topk(node: Node) -> list[Shape]:
    """The largest elements along one axis, and their indices."""
    x = node.shape(0)
    axis = node.axis(len(x), -1)
    numbers: list[Int] | None = [node.integer("k")] if node.version < 10 else node.numbers(1)
    if numbers is None:
        count: Int = node.unknown_size(at_most=x[axis])
        found = Shape((*x[:axis], count, *x[axis + 1 :]))
    else:
        node.env.require(numbers[0] <= x[axis], "more elements are wanted than the axis has")
        node.env.require(numbers[0] >= 0, "a negative number of elements is wanted")
        found = Shape((*x[:axis], numbers[0], *x[axis + 1 :]))
    return [Shape(found, dtype=x.dtype), Shape(found, dtype="int64")][: node.outputs]


@operator("Unique")
def unique(node: Node) -> list[Shape]:
    """The distinct elements, or slices along an axis; first indices, inverse indices, and counts."""
    x = node.shape(0)
    if "axis" in node.attributes:
        axis = node.axis(len(x))
        size, all_ = node.unknown_size(at_most=x[axis]), x[axis]
        values = Shape((*x[:axis], size, *x[axis + 1 :]), dtype=x.dtype)
    else:
        all_ = numel(x)
        size = node.unknown_size(at_most=all_)
        values = Shape((size,), dtype=x.dtype)
    one, whole = Shape((size,), dtype="int64"), Shape((all_,), dtype="int64")
    return [values, one, whole, one][: node.outputs]


@operator("NonMaxSuppression")
def non_max_suppression(node: Node) -> Shape:
    """Batch, class and box of each box that is kept; at most so many for each class."""
    boxes, scores = node.shape(0), node.shape(1)
    agree(node.env, boxes[0], scores[0], "boxes and scores have different batches")
    agree(node.env, boxes[1], scores[2], "there is not one score for each box")
    agree(node.env, boxes[2], 4, "a box has not four corners")
    most = node.numbers(2) if node.has(2) else [0]
    kept = boxes[1] if most is None else sym_min(most[0], boxes[1])
    return Shape((node.unknown_size(at_most=scores[0] * scores[1] * kept), 3), dtype="int64")
