"""Shape inference for ONNX models: dim_params become symbols, and questions about the sizes of any value are answered.

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

The shape rules of this project infer the outputs of every node. Integers that determine sizes (Shape, Gather, Add,
Concat, Reshape) are propagated as symbolic expressions. A node's precondition on sizes becomes a guard of `env` that
names the node. Data-dependent sizes are unbacked symbols with their bounds.
"""

from shapes.extras import require

require("numpy", extra="onnx", needed_by="frontends.onnx")
require("onnx", extra="onnx", needed_by="frontends.onnx")

# ruff: noqa: E402  # and not before that
from frontends.onnx.graphs import Refused
from frontends.onnx.model import OnnxModel, read
from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import Value

__all__ = ["Node", "NotKnown", "OnnxModel", "Refused", "Value", "operator", "read"]
