"""`onnx.shape_inference` against ONNX Runtime, on models of a single node.

Inference is strict, with data propagation; numbers that decide sizes are constants of the model. Unknown dimensions are
not a finding. Operators without a kernel in ONNX Runtime are left out.
"""

import re
from typing import Any

from benchmarks.findings.drawing import drawn, smallest
from benchmarks.findings.onnx_arguments import ONNX
from benchmarks.findings.record import Examined, Finding, under_way
from shapes.testing.calls import Call, Input
from shapes.testing.references.arrays import array_of

LIBRARY = "onnx"
DRAWN = 250
SECONDS = 10.0
OPSET = 21
NO_KERNEL = ("NOT_IMPLEMENTED", "NotImplemented", "INVALID_GRAPH", "invalid for type", "out of bounds")

NOISE = (
    r"\[ONNXRuntimeError\] : \d+ : \w+ : ",
    r"Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: ",
    r"/?\S+\.(h|cc):\d+ (\w+ )?",
    r"(void )?onnxruntime::[^()]*\(.*?\)( const)? ",
    r"\[with .*?\] ",
    r"(void )?onnxruntime::\S+ ",
    r"Exception during initialization: ",
)

Seen = tuple[tuple[int | None, ...] | None, ...]


def operators() -> list[str]:
    import onnx  # noqa: F401 - says that it is not here

    return sorted(ONNX)


def model_of(kind: str, call: Call, outputs: int) -> tuple[Any, dict[str, Any]]:
    """A model with one node, and what to feed it."""
    import numpy
    import onnx

    names, inputs, constants, feeds = [], [], [], {}
    for number, value in enumerate(call.args):
        name = "" if value is None else f"input{number}"
        names.append(name)
        if isinstance(value, Input):
            feeds[name] = array_of(value)
            element = onnx.helper.np_dtype_to_tensor_dtype(feeds[name].dtype)
            inputs.append(onnx.helper.make_tensor_value_info(name, element, feeds[name].shape))
        elif value is not None:
            floats = any(isinstance(one, float) for one in (value if isinstance(value, list) else [value]))
            array = numpy.asarray(value, dtype=numpy.float32 if floats else numpy.int64)
            constants.append(onnx.numpy_helper.from_array(array, name))
    results = [f"output{number}" for number in range(outputs)]
    node = onnx.helper.make_node(kind, names, results, **call.kwargs)
    infos = [onnx.ValueInfoProto(name=name) for name in results]
    graph = onnx.helper.make_graph([node], kind, inputs, infos, constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)])
    model.ir_version = 10
    return model, feeds


def kernel(model: Any, feeds: dict[str, Any]) -> Seen | str:
    """Run the model in ONNX Runtime: its outputs, or the reason of its refusal."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return tuple([tuple(array.shape) for array in session.run(None, feeds)])
    except Exception as refusal:
        return reason(refusal)


def inferred(model: Any) -> Seen | str:
    """Run ONNX's shape inference: the inferred shapes, or the reason of its refusal."""
    import onnx

    try:
        found = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except Exception as refusal:
        return reason(refusal)
    said: list[tuple[int | None, ...] | None] = []
    for info in found.graph.output:
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            said.append(None)
            continue
        said.append(tuple([dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]))
    return tuple(said)


def reason(refusal: Exception) -> str:
    """The text of a refusal, without the places in somebody's sources."""
    text = " ".join(str(refusal).split())
    for noise in NOISE:
        text = re.sub(noise, "", text)
    return f"{type(refusal).__name__}: {text[:120].strip()}"


def difference(name: str, call: Call) -> Finding | None:
    under_way("", repr(call))
    try:
        model, feeds = model_of(name, call, ONNX[name][1])
    except (TypeError, ValueError):
        return None
    said = inferred(model)
    real = kernel(model, feeds)
    if isinstance(real, str) and any(part in real for part in NO_KERNEL):
        return None
    match real, said:
        case tuple(), tuple() if not _agree(real, said):
            kind = "sizes"
        case str(), tuple() if all(one is not None and None not in one for one in said):
            kind = "accepts"
        case tuple(), str():
            kind = "refuses"
        case _:
            return None
    return Finding(kind, repr(call), _told(real), _told(said))


def examine(name: str) -> Examined:
    strategy, _ = ONNX[name]
    done, kinds = Examined(name), {}
    for call in drawn(strategy, DRAWN):
        done.calls += 1
        found = difference(name, call)
        if found is not None:
            kinds.setdefault(found.kind, call)
    for kind, first in kinds.items():

        def differs(call: Call, kind: str = kind) -> bool:
            found = difference(name, call)
            return found is not None and found.kind == kind

        found = difference(name, smallest(strategy, differs, first, SECONDS))
        if found is not None:
            done.findings.append(found)
    return done


def again(name: str, finding: Finding) -> Finding | None:
    """The same call once more."""
    call = eval(finding.call, {"Call": Call, "Input": Input})
    return difference(name, call)


def _agree(real: Seen, said: Seen) -> bool:
    return all(
        other is None or (len(one or ()) == len(other) and all(b is None or a == b for a, b in zip(one or (), other)))
        for one, other in zip(real, said)
    )


def _told(seen: Seen | str) -> str:
    return f"refuses: {seen}" if isinstance(seen, str) else ", ".join([str(one) for one in seen])
