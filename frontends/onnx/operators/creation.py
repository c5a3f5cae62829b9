"""Creation of arrays: constants, ranges, unit matrices, random numbers."""

from __future__ import annotations

import math

import numpy as np

from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import MOST_ELEMENTS, Value, computed, constant, few
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.symbolic.choices import Int, sym_int, sym_max


@operator("Constant")
def constant_(node: Node) -> Value:
    """The value of whichever attribute is set."""
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in node.attributes:
            found = node.attributes[name]
            if isinstance(found, Value):
                return found
            if isinstance(found, np.ndarray):
                return constant(found)
            return constant(np.array(found, dtype=np.float32 if "float" in name else np.int64))
    raise NotKnown("a constant that is no dense array of numbers")


@operator("ConstantOfShape")
def constant_of_shape(node: Node) -> Value:
    """The sizes that the input holds."""
    sizes = node.numbers(0)
    value = node.attributes.get("value")
    fill = value if isinstance(value, np.ndarray) else np.zeros(1, np.float32)
    if sizes is None:
        sizes = [node.unknown_size() for _ in range(node.count(0))]
    for size in sizes:
        node.env.require(size >= 0, "a size is negative")
    shape = Shape(sizes, dtype=fill.dtype.name)
    if isinstance(value, Value): # strings, for example, which determine no sizes
        return Value(Shape(sizes, dtype=value.dtype))
    if fill.size != 1:
        raise ShapeError(f"value has {fill.size} elements: expected one")
    if fill.dtype.kind == "f" or not few(sizes):
        return Value(shape)
    return computed(np.full(tuple(sizes), fill.reshape(-1)[0].item(), dtype=object), shape.dtype)


@operator("Range")
def range_(node: Node) -> Value:
    """From a number up to another one by steps."""
    dtype = node.shape(0).dtype
    found = [node.numbers(index) for index in range(3)]
    if any(numbers is None for numbers in found):
        return Value(Shape((node.unknown_size(),), dtype=dtype))
    for index, numbers in enumerate(found):
        if len(numbers or ()) != 1:
            raise ShapeError(f"input {index} has {len(numbers or ())} elements: expected one")
    start, limit, step = [number for numbers in found for number in numbers or ()]
    if all(isinstance(number, int | float) for number in (start, limit, step)):
        if step == 0:
            raise ShapeError("the step is 0")
        if not all(math.isfinite(number) for number in (start, limit, step)):
            raise ShapeError("a bound or the step is not a finite number")
        if (limit - start) / step <= MOST_ELEMENTS:
            return constant(np.arange(start, limit, step, dtype=np.dtype(dtype or "int64")))
        if not all(isinstance(number, int) for number in (start, limit, step)):
            # so many elements that rounding of floats determines the number
            return Value(Shape((node.unknown_size(),), dtype=dtype))
    node.env.require(step != 0, "the step is 0")
    length: Int = sym_max(-((start - limit) // step), 0)
    return Value(Shape((length,), dtype=dtype))


@operator("EyeLike")
def eye_like(node: Node) -> Shape:
    return _of_type(node, node.shape(0))


@operator("RandomNormalLike", "RandomUniformLike", "Multinomial")
def random_like(node: Node) -> Shape:
    """The sizes of the input; for Multinomial, so many draws a row."""
    x = node.shape(0)
    if node.kind == "Multinomial":
        drawn = Shape((x[0], node.integer("sample_size", 1)), dtype="int32")
        return _of_type(node, drawn)
    return _of_type(node, x)


@operator("RandomNormal", "RandomUniform")
def random(node: Node) -> Shape:
    sizes = node.integers("shape") or []
    for size in sizes:
        node.env.require(size >= 0, "a size is negative")
    return _of_type(node, Shape(sizes))


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(node: Node) -> Shape:
    """The given number of weights."""
    sizes = node.numbers(0)
    length = sym_int(sizes[0]) if sizes else node.unknown_size()
    return _of_type(node, Shape((length,)), attribute="output_datatype")


def _of_type(node: Node, shape: Shape, attribute: str = "dtype") -> Shape:
    """A shape with the dtype that an attribute names, by default that of the input."""
    from frontends.onnx.graphs import dtype_name

    named = node.attributes.get(attribute)
    return Shape(shape, dtype=shape.dtype or "float32" if named is None else dtype_name(node.integer(attribute)))


