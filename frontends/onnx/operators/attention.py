"""Scaled dot-product attention as one operator."""

from __future__ import annotations

from frontends.onnx.nodes import Node, NotKnown, operator
from shapes.rules import Shape
from shapes.rules.broadcasting import agree
from shapes.symbolic.choices import Int, sym_and


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
