"""Recurrent layers as single operators."""

from __future__ import annotations

from typing import Final

from frontends.onnx.nodes import Node, operator
from shapes.rules import Shape
from shapes.rules.broadcasting import agree

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
