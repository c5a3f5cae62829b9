"""Operators of ONNX by type, run by ONNX Runtime, as references.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.onnx_runtime import onnx_operator
    >>> transpose = onnx_operator("Transpose", perm=[1, 0])                   # doctest: +SKIP
    >>> transpose(Call((Input((2, 3)),)))                                     # doctest: +SKIP
    ((3, 2),)

The inputs of a call are the operator's inputs, in order, and its keyword arguments are attributes. A model with that
one node is made for every call.
"""

from __future__ import annotations

from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call
from shapes.testing.references.functions import Function, Reference

OPSET = 21


def onnx_operator(kind: str, *, outputs: int = 1, opset: int = OPSET, **attributes: object) -> Reference:
    """The reference for an ONNX operator with so many outputs and these attributes."""

    def run(*arrays: object, **more: object) -> object:
        return _run(kind, arrays, {**attributes, **more}, outputs, opset)

    function = Function(run, "numpy")

    def reference(call: Call) -> Sizes | None:
        return function(call)

    return reference


def _run(
    kind: str, arrays: tuple[object, ...], attributes: dict[str, object], outputs: int, opset: int
) -> list[object]:
    """What ONNX Runtime computes for one node."""
    import numpy
    import onnx
    import onnxruntime

    feeds = {f"input{i}": numpy.asarray(array) for i, array in enumerate(arrays) if array is not None}
    names = ["" if array is None else f"input{i}" for i, array in enumerate(arrays)]
    results = [f"output{i}" for i in range(outputs)]
    node = onnx.helper.make_node(kind, names, results, **attributes)
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    graph = onnx.helper.make_graph([node], kind, inputs, [onnx.ValueInfoProto(name=name) for name in results])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = min(model.ir_version, 10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[object] = session.run(results, feeds)
    return found
