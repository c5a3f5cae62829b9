"""Whole ONNX models: dim_params as symbols, the sizes of every value, and answers to questions about them.

    >>> import onnx.parser
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 17]>
    ...     heads (float[batch, tokens, 64] x) => (float[n, h, t, d] y) {
    ...         sizes = Shape <start = 0, end = 2> (x)
    ...         rest = Constant <value_ints = [8, -1]> ()
    ...         target = Concat <axis = 0> (sizes, rest)
    ...         split = Reshape (x, target)
    ...         y = Transpose <perm = [0, 2, 1, 3]> (split)
    ...     }''')
    >>> from frontends.onnx import read
    >>> found = read(model)
    >>> found.dims("y")
    (batch, 8, tokens, 8)
    >>> found.env.ask("batch * tokens >= 1")
    Always(1 <= batch <= 9223372036854775807, 1 <= tokens <= 9223372036854775807)

Every node runs through the shape rules of this project; numbers that sizes are computed with (Shape, Gather, Add,
Concat, Reshape) are followed through the graph as expressions. What a node needs of the sizes becomes a guard of
`env` that names the node. Sizes that only a run tells are unbacked symbols, with what holds of them.
"""

from frontends.onnx.graphs import Refused
from frontends.onnx.model import OnnxModel, read
from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import Value

__all__ = ["Node", "NotKnown", "OnnxModel", "Refused", "Value", "operator", "read"]
