"""Concatenation, splitting, slicing, padding and tiling."""

from __future__ import annotations

import numpy as np

from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import Value, computed, few
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.axes import axis_of, replaced
from shapes.rules.slicing import sliced
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymInt


@operator("Concat")
def concat(node: Node) -> Value:
    """The sum of the sizes along one axis."""
    inputs = [node.shape(index) for index in range(len(node.inputs))]
    axis = node.axis(len(inputs[0]))
    for shape in inputs:
        if len(shape) != len(inputs[0]):
            raise ShapeError(f"inputs have {len(inputs[0])} and {len(shape)} axes")
    result = Shape(_joined(node, inputs, axis), dtype=inputs[0].dtype)
    elements = [node.elements(index) for index in range(len(inputs))]
    known = [one for one in elements if one is not None]
    if len(known) < len(elements) or not few(result):
        return Value(result)
    return computed(np.concatenate(known, axis=axis), result.dtype)


def _joined(node: Node, inputs: list[Shape], axis: int) -> Shape:
    # torch accepts empty vectors whatever the others' rank; here the ranks are equal
    return node.one("cat", inputs, dim=axis) if len(inputs) > 1 else inputs[0]


@operator("Split")
def split(node: Node) -> list[Value]:
    """Pieces along one axis, of the given sizes or of nearly equal ones."""
    x, elements = node.shape(0), node.elements(0)
    axis = node.axis(len(x))
    sizes: list[Int] | None = list(node.integers("split") or ()) or None
    if node.has(1):
        sizes = node.needed(1, "the sizes of the pieces")
    if sizes is None:
        count = node.integer("num_outputs", node.outputs)
        piece = x[axis] // count if node.version < 18 else -(-x[axis] // count)
        if node.version < 18:
            node.env.require(x[axis] % count == 0, "the axis is not a multiple of the number of pieces")
        sizes = [piece] * (count - 1)
        sizes.append(x[axis] - piece * (count - 1))
        node.env.require(sizes[-1] >= 1, "the axis is too short for so many pieces")
    else:
        for size in sizes:
            node.env.require(size >= 0, "a piece has a negative size")
        node.env.require(sum(sizes[1:], sizes[0]) == x[axis], "the pieces do not make up the axis")
    shapes = [Shape(replaced(x, axis, size), dtype=x.dtype) for size in sizes]
    if elements is None or any(isinstance(size, SymInt) for size in sizes):
        return [Value(shape) for shape in shapes]
    return [computed(part, x.dtype) for part in np.split(elements, np.cumsum(sizes)[:-1].tolist(), axis)]


@operator("Slice")
def slice_(node: Node) -> Value:
    """Strided ranges along some axes."""
    x, elements = node.shape(0), node.elements(0)
    if node.version < 10:
        starts: list[Int] | None = list(node.integers("starts") or ())
        ends: list[Int] | None = list(node.integers("ends") or ())
        axes, steps = node.integers("axes"), None
    else:
        starts, ends = node.numbers(1), node.numbers(2)
        axes = node.plain(3, "axes") if node.has(3) else None
        steps = node.plain(4, "steps") if node.has(4) else None
    if axes is None:
        count = starts if starts is not None else ends
        if count is None:
            raise NotKnown("how many axes are sliced is known only when the model runs")
        axes = list(range(len(count)))
    for name, numbers in (("starts", starts), ("ends", ends), ("steps", steps)):
        if numbers is not None and len(numbers) != len(axes):
            raise ShapeError(f"{name} has {len(numbers)} numbers: expected {len(axes)}, one for each axis")
    result = list(x)
    parts: list[object] = [slice(None)] * len(x)
    plain = True
    for index, axis in enumerate(axes):
        axis = axis_of(axis, len(x), "axes")
        step = 1 if steps is None else steps[index]
        start = None if starts is None else starts[index]
        end = None if ends is None else ends[index]
        if start is None or end is None:
            result[axis] = node.unknown_size(at_most=x[axis])
            plain = False
            continue
        part = slice(_unbounded(start, step), _unbounded(end, step), step)
        _, result[axis], _ = sliced(node.env, x[axis], part)
        parts[axis] = part
        plain = plain and not isinstance(start, SymInt) and not isinstance(end, SymInt)
    shape = Shape(result, dtype=x.dtype)
    if elements is None or not plain:
        return Value(shape)
    return computed(elements[tuple(parts)], x.dtype)


LARGE = 2**31 - 1
"""Bounds from here on mean the end of an axis, as exporters write it."""


def _unbounded(bound: Int, step: int) -> Int | None:
    """A bound; None if it is a number beyond the end of any axis."""
    if isinstance(bound, int):
        if step > 0 and bound >= LARGE or step < 0 and (bound >= LARGE or bound <= -LARGE):
            return None
        if step > 0 and bound <= -LARGE:
            return 0
    return bound


@operator("Pad")
def pad(node: Node) -> Shape:
    """Each size plus the padding before and after it."""
    x = node.shape(0)
    if node.version < 11:
        amounts: list[Int] | None = list(node.integers("pads") or node.integers("paddings") or ())
    else:
        amounts = node.numbers(1)
    axes = [axis_of(axis, len(x), "axes") for axis in node.plain(3, "axes")] if node.has(3) else list(range(len(x)))
    result = list(x)
    if amounts is not None and len(amounts) != 2 * len(axes):
        raise ShapeError(f"pads has {len(amounts)} numbers: expected {2 * len(axes)}")
    for index, axis in enumerate(axes):
        if amounts is None:
            result[axis] = node.unknown_size()
            continue
        before, behind = amounts[index], amounts[index + len(axes)]
        mode = node.text("mode", "constant")
        if mode == "reflect":
            node.env.require(before < x[axis], "reflected padding is as long as the axis")
            node.env.require(behind < x[axis], "reflected padding is as long as the axis")
        result[axis] = x[axis] + before + behind
        node.env.require(result[axis] >= 0, "padding takes more than there is")
    return Shape(result, dtype=x.dtype)


@operator("Tile")
def tile(node: Node) -> Value:
    """Each size times its number of repeats."""
    x, repeats = node.shape(0), node.numbers(1)
    if repeats is None:
        return Value(Shape([node.unknown_size() for _ in x], dtype=x.dtype))
    if len(repeats) != len(x):
        raise ShapeError(f"repeats has {len(repeats)} numbers: expected {len(x)}")
    for number in repeats:
        node.env.require(number >= 0, "a number of repeats is negative")
    result = Shape([size * number for size, number in zip(x, repeats, strict=True)], dtype=x.dtype)
    return node.moved(result, lambda elements: np.tile(elements, repeats))


