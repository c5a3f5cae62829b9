"""Layers as single operators: normalization, attention, recurrent layers."""

from __future__ import annotations

from typing import Final

from frontends.onnx.nodes import Node, NotKnown, operator
from shapes.rules import Shape
from shapes.rules.broadcasting import agree, expandable
from shapes.symbolic.choices import Int, sym_and


def _per_channel(node: Node, x: Shape, count: int) -> None:
    """Require that `count` inputs after the first are vectors with one element for each channel."""
    if len(x) >= 2:
        for index in range(1, 1 + count):
            vector = node.optional_shape(index)
            if vector is not None and len(vector) == 1:
                agree(node.env, vector[0], x[1], f"input {index} has not one number for each channel")


@operator("BatchNormalization")
def batch_normalization(node: Node) -> list[Shape | None]:
    """The sizes of the input, then the statistics of the channels."""
    x = node.shape(0)
    _per_channel(node, x, 4)
    channels: tuple[Int, ...] = (x[1],) if len(x) >= 2 else (1,)
    outputs: list[Shape | None] = [Shape(x, dtype=x.dtype)]
    return outputs + [Shape(channels, dtype=x.dtype) for _ in range(node.outputs - 1)]


@operator("InstanceNormalization", "GroupNormalization")
def channel_normalization(node: Node) -> Shape:
    """The sizes of the input; scale and bias are per channel, or in older operator sets per group."""
    x = node.shape(0)
    if node.kind == "InstanceNormalization":
        _per_channel(node, x, 2)
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


GATES: Final = {"RNN": 1, "GRU": 3, "LSTM": 4}


@operator("RNN", "GRU", "LSTM")
def recurrent(node: Node) -> list[Shape]:
    """The output of every step, and the last states."""
    x, weight, recurrence = node.shape(0), node.shape(1), node.shape(2)
    agree(node.env, x[2], weight[2], "the input has another number of features than the weight")
    directions, hidden = recurrence[0], recurrence[2]
    gates = GATES[node.kind]
    agree(node.env, directions, 2 if node.text("direction", "forward") == "bidirectional" else 1, "directions differ")
    agree(node.env, weight[0], directions, "weights have different numbers of directions")
    agree(node.env, weight[1], gates * hidden, f"a weight has not {gates} gates for each hidden number")
    agree(node.env, recurrence[1], gates * hidden, f"a weight has not {gates} gates for each hidden number")
    bias = node.optional_shape(3)
    if bias is not None:
        agree(node.env, bias[1], 2 * gates * hidden, f"the bias has not {gates} gates for each hidden number, twice")
    if node.integer("layout"):
        batch, steps = x[0], x[1]
        every, last = (batch, steps, directions, hidden), (batch, directions, hidden)
    else:
        steps, batch = x[0], x[1]
        every, last = (steps, directions, batch, hidden), (directions, batch, hidden)
    states = [Shape(last, dtype=x.dtype)] * 2
    return [Shape(every, dtype=x.dtype), *states][: node.outputs]


@operator("Attention")
def attention(node: Node) -> list[Shape]:
    """For each query as many features as a value has; then keys and values with those of the past, and the scores."""
    query, key, value = node.shape(0), node.shape(1), node.shape(2)
    if node.has(4) or node.has(5):
        raise NotKnown("attention with a past")
    if len(query) == 4:
        agree(node.env, query[0], key[0], "queries and keys have different batches")
        agree(node.env, query[3], key[3], "queries and keys have different numbers of features")
        agree(node.env, key[1], value[1], "keys and values have different numbers of heads")
        agree(node.env, key[2], value[2], "there is not one value for each key")
        node.env.require(sym_and(key[1] >= 1, query[1] % key[1] == 0), "heads of keys do not divide those of queries")
        scores: tuple[Int, ...] = (*query[:3], key[2])
        found = [Shape((*query[:3], value[3])), Shape(key), Shape(value), Shape(scores)]
    else:
        heads, others = node.integer("q_num_heads"), node.integer("kv_num_heads")
        agree(node.env, query[0], key[0], "queries and keys have different batches")
        agree(node.env, key[1], value[1], "there is not one value for each key")
        features = value[2] // others
        found = [
            Shape((query[0], query[1], heads * features)),
            Shape((key[0], others, key[1], key[2] // others)),
            Shape((value[0], others, value[1], features)),
            Shape((query[0], heads, query[1], key[1])),
        ]
    return [Shape(one, dtype=query.dtype) for one in found][: node.outputs]
