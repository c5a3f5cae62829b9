"""Normalization: outputs of the input's sizes, and statistics."""

from __future__ import annotations

from frontends.onnx.nodes import Node, operator
from shapes.rules import Shape
from shapes.rules.broadcasting import agree, expandable
from shapes.symbolic.choices import Int


def _per_channel(node: Node, x: Shape, first: int, count: int) -> None:
    """Require that `count` inputs are vectors with one element for each channel."""
    if len(x) >= 2:
        for index in range(first, first + count):
            vector = node.optional_shape(index)
            if vector is not None and len(vector) == 1:
                agree(node.env, vector[0], x[1], f"input {index} has not one number for each channel")


@operator("BatchNormalization")
def batch_normalization(node: Node) -> list[Shape | None]:
    """The sizes of the input, then the statistics of the channels."""
    x = node.shape(0)
    _per_channel(node, x, 1, 4)
    channels: tuple[Int, ...] = (x[1],) if len(x) >= 2 else (1,)
    outputs: list[Shape | None] = [Shape(x, dtype=x.dtype)]
    return outputs + [Shape(channels, dtype=x.dtype) for _ in range(node.outputs - 1)]


@operator("InstanceNormalization", "GroupNormalization")
def channel_normalization(node: Node) -> Shape:
    """The sizes of the input; scale and bias are per channel, or in older operator sets per group."""
    x = node.shape(0)
    if node.kind == "InstanceNormalization":
        _per_channel(node, x, 1, 2)
    else:
        groups = node.integer("num_groups", 1)
        node.env.require(x[1] % groups == 0, "the groups do not divide the channels")
        for index in (1, 2):
            wanted = x[1] if node.version >= 21 else groups
            agree(node.env, node.shape(index)[0], wanted, f"input {index} has another number of elements")
    return Shape(x, dtype=x.dtype)


@operator("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
def layer_normalization(node: Node) -> list[Shape]:
    """The sizes of the input, then the means and deviations."""
    x = node.shape(0)
    axis = node.axis(len(x), -1)
    for index in (1, 2):
        weight = node.optional_shape(index)
        if weight is not None:
            expandable(node.env, weight, x, f"input {index} does not broadcast to what is normalized")
    statistics = Shape((*x[:axis], *[1] * (len(x) - axis)), dtype="float32")
    return [Shape(x, dtype=x.dtype), statistics, statistics][: node.outputs]


@operator("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
def quantize(node: Node) -> list[Shape]:
    """The sizes of the input, and for the dynamic one two numbers."""
    x = node.shape(0)
    if node.kind == "DynamicQuantizeLinear":
        return [Shape(x, dtype="uint8"), Shape((), dtype="float32"), Shape((), dtype="uint8")]
    if node.kind == "DequantizeLinear":
        return [Shape(x, dtype=node.shape(1).dtype)]
    zero = node.optional_shape(2)
    return [Shape(x, dtype="uint8" if zero is None else zero.dtype)]


@operator("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def loss(node: Node) -> list[Shape]:
    """A number, or one for each target; then the logarithms of the probabilities."""
    x, target = node.shape(0), node.shape(1)
    kept = target if node.text("reduction", "mean") == "none" else ()
    return [Shape(kept, dtype=x.dtype), Shape(x, dtype=x.dtype)][: node.outputs]
