"""Recurrent layers, whose loop is one operator."""

from __future__ import annotations

from frontends.onnx_model.nodes import Node, operator
from shapes.rules import Shape
from shapes.rules.broadcasting import agree


@operator("RNN", "GRU", "LSTM")
def recurrent(node: Node) -> list[Shape]:
    """What every step gives, and the last states."""
    x, weight, recurrence = node.shape(0), node.shape(1), node.shape(2)
    agree(node.env, x[2], weight[2], "the input has another number of features than the weight")
    directions, hidden = recurrence[0], recurrence[2]
    if node.integer("layout"):
        batch, steps = x[0], x[1]
        every, last = (batch, steps, directions, hidden), (batch, directions, hidden)
    else:
        steps, batch = x[0], x[1]
        every, last = (steps, directions, batch, hidden), (directions, batch, hidden)
    states = [Shape(last, dtype=x.dtype)] * 2
    return [Shape(every, dtype=x.dtype), *states][: node.outputs]
