"""Gather and scatter: elements taken or written at computed indices; elements selected by value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import Value
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.axes import without
from shapes.rules.broadcasting import agree, agree_all
from shapes.rules.structure import at_least
from shapes.symbolic.choices import Int, sym_int, sym_min


@operator("Gather")
def gather(node: Node) -> Value:
    """The input's sizes with one axis replaced by the sizes of the indices."""
    x, index = node.shape(0), node.shape(1)
    axis = node.axis(len(x))
    result = Shape((*x[:axis], *index, *x[axis + 1 :]), dtype=x.dtype)
    places = node.elements(1)
    if places is not None and node.value(1).is_constant:
        size = x[axis]
        for place in set(places.reshape(-1).tolist()):
            node.env.require(place < size if place >= 0 else -place <= size, f"index {place} is outside of the axis")
        return node.moved(result, lambda elements: np.take(elements, places.astype(np.int64), axis))
    return Value(result)


@operator("GatherElements")
def gather_elements(node: Node) -> Shape:
    """The sizes of the indices, which agree with the input's on every axis but one."""
    x, index = node.shape(0), node.shape(1)
    if len(x) != len(index):
        raise ShapeError(f"the indices have {len(index)} axes: expected {len(x)}")
    axis = node.axis(len(x))
    for place, (size, wanted) in enumerate(zip(x, index, strict=True)):
        if place != axis:
            node.env.require(wanted <= size, "there are more indices than elements along another axis")
    return Shape(index, dtype=x.dtype)


@operator("GatherND")
def gather_nd(node: Node) -> Shape:
    """The sizes of the indices without their last axis, then what each of them leaves."""
    x, index = node.shape(0), node.shape(1)
    batch = node.integer("batch_dims")
    depth = index[-1]
    if not isinstance(depth, int):
        raise NotKnown("how many axes an index has is known only when the model runs")
    if not 1 <= depth <= len(x) - batch:
        raise ShapeError(f"an index has {depth} numbers: expected 1 to {len(x) - batch}")
    _inside(node, x[batch:])
    agree_all(node.env, x[:batch], index[:batch], "the batches are not the same")
    return Shape((*index[:-1], *x[batch + depth :]), dtype=x.dtype)


@operator("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Shape:
    """The sizes of the first input; indices and updates have the same ones."""
    x, index, updates = node.shape(0), node.shape(1), node.shape(2)
    if not len(x) == len(index) == len(updates):
        raise ShapeError(f"inputs have {len(x)}, {len(index)} and {len(updates)} axes")
    axis = node.axis(len(x))
    for place, (size, one, other) in enumerate(zip(x, index, updates, strict=True)):
        agree(node.env, one, other, "indices and updates have different sizes")
        if place != axis:
            node.env.require(one <= size, "there are more indices than elements along another axis")
    return Shape(x, dtype=x.dtype)


@operator("ScatterND")
def scatter_nd(node: Node) -> Shape:
    """The sizes of the first input; updates are as large as what the indices name."""
    x, index, updates = node.shape(0), node.shape(1), node.shape(2)
    depth = index[-1]
    if not isinstance(depth, int):
        return Shape(x, dtype=x.dtype)
    _inside(node, x)
    wanted = (*index[:-1], *x[depth:])
    if len(wanted) != len(updates):
        raise ShapeError(f"updates have {len(updates)} axes: expected {len(wanted)}")
    agree_all(node.env, wanted, updates, "updates have other sizes than the places they are for")
    return Shape(x, dtype=x.dtype)


def _inside(node: Node, sizes: Sequence[Int]) -> None:
    """Require that constant indices are in bounds."""
    places = node.elements(1)
    if places is None or not node.value(1).is_constant:
        return
    for axis, size in enumerate(sizes[: places.shape[-1]]):
        column = [int(place) for place in places[..., axis].reshape(-1).tolist()]
        if column:
            node.env.require(size > max(column), "an index is behind the end of an axis")
            node.env.require(size >= -min(column), "an index is before the start of an axis")


@operator("OneHot")
def one_hot(node: Node) -> Shape:
    """One more axis, as long as the depth."""
    index, depth = node.shape(0), node.numbers(1)
    rank = len(index) + 1
    axis = node.axis(rank, -1)
    size: Int = node.unknown_size() if depth is None else sym_int(depth[0])
    node.env.require(size >= 0, "the depth is negative")
    return Shape((*index[:axis], size, *index[axis:]), dtype=node.shape(2).dtype)


@operator("Compress")
def compress(node: Node) -> Shape:
    """As many elements along an axis as the condition selects: data-dependent."""
    x, condition = node.shape(0), node.shape(1)
    axis = node.attributes.get("axis")
    at_most = condition[0]
    if axis is None:
        return Shape((node.unknown_size(at_most=at_most),), dtype=x.dtype)
    place = node.axis(len(x))
    size = node.unknown_size(at_most=at_most)
    node.env.postulate(size <= x[place])
    return Shape((*x[:place], size, *x[place + 1 :]), dtype=x.dtype)


@operator("ArgMax", "ArgMin")
def arg_extreme(node: Node) -> Shape:
    """The input's sizes without one axis, or with 1 for it."""
    x = node.shape(0)
    axis = node.axis(len(x))
    if not at_least(x[axis], 1):
        node.env.require(x[axis] >= 1, "an axis without elements has no largest one")
    if node.integer("keepdims", 1):
        return Shape((*x[:axis], 1, *x[axis + 1 :]), dtype="int64")
    return Shape(without(x, (axis,)), dtype="int64")


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
