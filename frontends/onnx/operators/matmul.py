"""Matrix products and Einstein summation."""

from __future__ import annotations

from frontends.onnx.nodes import Node, operator
from shapes.rules import Shape
from shapes.rules.broadcasting import expandable


@operator("MatMul", "MatMulInteger")
def matmul(node: Node) -> Shape:
    """Broadcast batch axes, then the rows of the first and the columns of the second."""
    a, b = node.shape(0), node.shape(1)
    found = node.one("matmul", Shape(a), Shape(b))
    return Shape(found, dtype="int32" if node.kind == "MatMulInteger" else a.dtype)


@operator("Gemm")
def gemm(node: Node) -> Shape:
    """The product of two matrices, each possibly transposed, plus a broadcast addend."""
    a, b, c = node.shape(0), node.shape(1), node.optional_shape(2)
    if node.integer("transA"):
        a = Shape(a[::-1], dtype=a.dtype)
    if node.integer("transB"):
        b = Shape(b[::-1], dtype=b.dtype)
    found = node.one("mm", Shape(a), Shape(b))
    if c is not None:
        expandable(node.env, c, found, "what is added does not broadcast to the product")
    return Shape(found, dtype=a.dtype)


@operator("Einsum")
def einsum(node: Node) -> Shape:
    """The axes that the equation names in its output."""
    inputs = [node.shape(index) for index in range(len(node.inputs))]
    found = node.one("einsum", node.text("equation"), *[Shape(one) for one in inputs])
    return Shape(found, dtype=inputs[0].dtype)


@operator("Det")
def det(node: Node) -> Shape:
    """The batch axes alone."""
    x = node.shape(0)
    return Shape(node.one("det", x), dtype=x.dtype)
