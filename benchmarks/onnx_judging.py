"""Compare the inferred sizes of a model with those of every value in ONNX Runtime.

A size counts as known if it is a number or an expression in the symbols of the inputs. Data-dependent sizes are
compared too: all sizes with the same unbacked symbol have to agree, and its facts have to hold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
import sympy

from frontends.onnx import OnnxModel
from shapes.symbolic.numbers import SymBool, SymInt
from solver.terms.expr import Atom

Feeds = Mapping[str, np.ndarray]
Measured = Mapping[str, np.ndarray]


@dataclass
class Judged:
    """The numbers of sizes, and of known ones, and a description of every wrong one."""

    dimensions: int = 0
    known: int = 0
    unknown_values: int = 0
    wrong: list[str] = field(default_factory=list)


def bare(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the sizes that its exporter wrote for anything but the inputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.value_info[:]
    for output in result.graph.output:
        output.type.tensor_type.ClearField("shape")
    return result


def runner(model: onnx.ModelProto) -> Callable[[Feeds], Measured]:
    """Runs the model and gives every value of its graph."""
    everything = bare(model)
    names = [name for node in everything.graph.node for name in node.output if name]
    del everything.graph.output[:]
    everything.graph.output.extend([onnx.ValueInfoProto(name=name) for name in names])
    everything.ir_version = min(everything.ir_version, 10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(everything.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: dict(zip(names, session.run(names, dict(feeds)), strict=True))


def judge_ours(found: OnnxModel, runs: Iterable[tuple[Mapping[str, int], Feeds, Measured]]) -> Judged:
    """Our sizes beside the measured ones, the elements that we followed included."""
    judged = Judged()
    env = found.env
    alone = {declared.symbol: atom for atom, declared in env.symbols.items()}
    for count, (sizes, feeds, measured) in enumerate(runs):
        values: dict[Atom, int] = {found.symbols[name].expr.atom: size for name, size in sizes.items()}
        judged.wrong += [f"check refuses {dict(sizes)}"] * (not found.accepts(feeds))
        for name, array in measured.items():
            value = found.values[name]
            if value.shape is None:
                judged.unknown_values += count == 0
                judged.dimensions += array.ndim * (count == 0)
                continue
            if len(value.shape) != array.ndim:
                judged.wrong.append(f"{name}: {value.shape}, but {array.shape} at {dict(sizes)}")
                continue
            for size, actual in zip(value.shape, array.shape, strict=True):
                if count == 0:
                    judged.dimensions += 1
                    judged.known += is_known(found, size)
                if isinstance(size, SymInt) and (atom := alone.get(size.expr)) is not None:
                    values.setdefault(atom, actual)
                if number_at(size, values) != actual:
                    judged.wrong.append(f"{name}: {value.shape}, but {array.shape} at {dict(sizes)}")
            if value.elements is not None and array.dtype.kind in "ib":
                for element, actual in zip(value.elements.reshape(-1).tolist(), array.reshape(-1).tolist()):
                    if number_at(element, values) not in (actual, None):
                        judged.wrong.append(f"{name}: element {element}, but {actual} at {dict(sizes)}")
        for fact in env.known.records():
            if fact.prop.symbols | fact.domain.symbols <= values.keys():
                if not (fact.domain.evaluate(values) and fact.prop.evaluate(values)):
                    judged.wrong.append(f"{fact.text} does not hold at {dict(sizes)}")
    return judged


def is_known(found: OnnxModel, size: int | SymInt) -> bool:
    return isinstance(size, int) or all(found.env.symbols[atom].kind == "backed" for atom in size.expr.symbols)


def number_at(size: object, values: Mapping[Atom, int]) -> object:
    """The value of a size; None where a symbol in it has none."""
    try:
        match size:
            case SymInt():
                return size.expr.evaluate(values)
            case SymBool():
                return size.prop.evaluate(values)
    except KeyError:
        return None
    return size


def inferred_by_onnx(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the sizes of ONNX's own shape inference, with data propagation."""
    return onnx.shape_inference.infer_shapes(bare(model), data_prop=True)


def inferred_by_runtime(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the sizes of ONNX Runtime's symbolic inference; without any where that fails."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    logging.getLogger("onnxruntime.tools.symbolic_shape_infer").setLevel(logging.CRITICAL)
    try:
        return SymbolicShapeInference.infer_shapes(bare(model), auto_merge=True) or bare(model)
    except Exception:  # it raises whatever its code runs into
        return bare(model)


def claimed_at(dim: onnx.TensorShapeProto.Dimension, sizes: Mapping[str, int]) -> int | None:
    """The size that an inference claims, where it is a number or made of the sizes of the inputs."""
    if dim.HasField("dim_value"):
        return dim.dim_value
    if dim.dim_param in sizes or not dim.dim_param:
        return sizes.get(dim.dim_param)
    expression = sympy.sympify(dim.dim_param, locals={name: sympy.Symbol(name) for name in sizes})
    if not {str(symbol) for symbol in expression.free_symbols} <= sizes.keys():
        return None
    return int(expression.subs(sizes))


def judge_inferred(inferred: onnx.ModelProto, runs: Iterable[tuple[Mapping[str, int], Feeds, Measured]]) -> Judged:
    """The sizes that another inference has written into a model, beside the measured ones."""
    infos = {one.name: one for one in [*inferred.graph.value_info, *inferred.graph.output]}
    judged = Judged()
    for count, (sizes, _, measured) in enumerate(runs):
        for name, array in measured.items():
            judged.dimensions += array.ndim * (count == 0)
            info = infos.get(name)
            if info is None or not info.type.tensor_type.HasField("shape"):
                judged.unknown_values += count == 0
                continue
            dims = info.type.tensor_type.shape.dim
            if len(dims) != array.ndim:
                judged.wrong.append(f"{name}: {len(dims)} axes, but {array.shape}")
                continue
            for dim, actual in zip(dims, array.shape, strict=True):
                claimed = claimed_at(dim, sizes)
                if claimed is None:
                    continue
                judged.known += count == 0
                if claimed != actual:
                    judged.wrong.append(f"{name}: {dim.dim_param or claimed}, but {actual} at {dict(sizes)}")
    return judged
