"""The result of shape inference for a model: its symbols, the sizes of all values, and their preconditions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import onnx

from frontends.onnx import operators as operators  # registers them
from frontends.onnx.graphs import MALFORMED, GraphEnv, Walk, dtype_name, element_type
from frontends.onnx.values import UNKNOWN, Value
from shapes.env import ShapeEnv
from shapes.environment.symbols import free_name
from shapes.errors import ShapeError
from shapes.guards.codegen import Check
from shapes.rules import Shape
from shapes.sessions.recording import open_regular
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymInt

Bounds = Sequence[int | None]
"""(lo, hi), or (lo, hi, what a size is a multiple of); None is unbounded."""

LARGEST = 2**63 - 1
"""The largest size that a model can hold."""


class Sized(Protocol):
    """Anything that has sizes, such as an array."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A model's values and the facts about their sizes.

    Attributes:
        env: answers questions about sizes, and has the nodes' preconditions as guards.
        values: every value by name, without those of nested graphs.
        inputs: the names of the inputs, outputs those of the outputs.
        symbols: the size for every dim_param of the inputs.
        unknown: by value, why its rank is unknown.
        proto: the model that was read.
    """

    env: ShapeEnv
    values: Mapping[str, Value]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    symbols: Mapping[str, SymInt]
    unknown: Mapping[str, str]
    proto: onnx.ModelProto = field(repr=False)

    def dims(self, name: str) -> tuple[Int, ...]:
        """The sizes of a value.

        Raises:
            ShapeError: there is no such value, or not even its number of axes is known.
        """
        return self.shape(name).sizes

    def shape(self, name: str) -> Shape:
        """Sizes and dtype of a value.

        Raises:
            ShapeError: there is no such value, or not even its number of axes is known.
        """
        if name not in self.values:
            raise ShapeError(f"name={name!r}: the model has no such value")
        shape = self.values[name].shape
        if shape is None:
            raise ShapeError(f"name={name!r}: {self.unknown.get(name, 'it depends on a value that is not known')}")
        return shape

    def check(self) -> Check:
        """A fast check of sizes against ranges and guards: `check(batch=4, tokens=12)`, by the names of symbols."""
        return self.env.compile_guards({str(size): str(size) for size in self.symbols.values()})

    def accepts(self, arrays: Mapping[str, Sized]) -> bool:
        """Return True if arrays, by input, have sizes that match the model's declarations and satisfy the guards."""
        sizes: dict[str, int] = {}
        for name in self.inputs:
            shape, given = self.values[name].shape, arrays[name].shape
            if shape is None:
                continue
            if len(shape) != len(given):
                return False
            for size, number in zip(shape, given, strict=True):
                if sizes.setdefault(str(size), number) != number or isinstance(size, int) and size != number:
                    return False
        return self.check()(**{str(size): sizes[str(size)] for size in self.symbols.values()})

    def annotated(self) -> onnx.ModelProto:
        """The model with the sizes of all values that are known: as numbers, or as expressions in `dim_param`."""
        found = onnx.ModelProto()
        found.CopyFrom(self.proto)
        graph = found.graph
        weights = {tensor.name for tensor in graph.initializer}
        declared = {info.name: info for info in (*graph.value_info, *graph.output, *graph.input)}
        for name, value in self.values.items():
            kind = element_type(value.dtype)
            if value.shape is None or name in weights or name not in declared and kind is None:
                continue
            info = declared.get(name) or graph.value_info.add(name=name)
            tensor = info.type.tensor_type
            tensor.elem_type = tensor.elem_type or kind or onnx.TensorProto.UNDEFINED
            tensor.shape.ClearField("dim")
            tensor.shape.SetInParent()  # a scalar has sizes, too: none
            for size in value.shape:
                if isinstance(size, int):
                    tensor.shape.dim.add(dim_value=size)
                else:
                    tensor.shape.dim.add(dim_param=str(size))
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the annotated model. Weights in other files are found beside it: those are not copied."""
        onnx.save(self.annotated(), os.fspath(path))


def read(
    model: onnx.ModelProto | str | os.PathLike[str], *, lo: int = 1, sizes: Mapping[str, Bounds] | None = None
) -> OnnxModel:
    """Read a model, or a model file, and infer the sizes of all of its values.

    Each dim_param is one symbol shared by all inputs, and each unnamed size has its own; they are at least `lo`. With
    `lo=0` empty inputs are considered too, which makes some sizes conditional: in Reshape, 0 copies the input's size.
    `sizes` are ranges by dim_param or symbol: `{"batch": (1, 64), "tokens": (16, 4096, 16)}`, the last a multiple.

    Models are untrusted: only small constants are evaluated, and no other file is opened.

    Raises:
        ShapeError: a node rejects its inputs for all sizes; or this is no model, or a malformed one.
        OSError: there is no such file.
    """
    if isinstance(model, onnx.ModelProto):
        proto, file = model, model.graph.name or "model"
    elif isinstance(model, str | os.PathLike):
        file = os.path.basename(os.fspath(model))
        proto = _loaded(model)
    else:
        raise ShapeError(f"model={model!r}: expected a model, or the path of its file")
    if type(lo) is not int or lo < 0:
        raise ShapeError(f"lo={lo!r}: expected the least size, 0 or more")
    try:
        return _read(proto, file, lo, sizes or {})
    except MALFORMED as error:  # such as a name that is not UTF-8, which protobuf accepts
        raise ShapeError(f"{file} is malformed: {type(error).__name__}: {error}") from error


def _read(proto: onnx.ModelProto, file: str, lo: int, sizes: Mapping[str, Bounds]) -> OnnxModel:
    env = GraphEnv()
    symbols: dict[str, SymInt] = {}
    values: dict[str, Value] = {}
    weights = {tensor.name for tensor in proto.graph.initializer}
    inputs = [one for one in proto.graph.input if one.name not in weights]
    for one in inputs:
        if one.name in values:
            raise ShapeError(f"two inputs have the name `{one.name}`")
        values[one.name] = _declared(env, one, symbols, lo)
    for name, given in sizes.items():
        _restrict(env, symbols, name, given)
    walk = Walk(env, proto, file)
    walk.graph(proto.graph, values)
    return OnnxModel(
        env,
        values,
        tuple([one.name for one in inputs]),
        tuple([one.name for one in proto.graph.output]),
        symbols,
        walk.unknown,
        proto,
    )


def _restrict(env: GraphEnv, symbols: Mapping[str, SymInt], name: str, given: Bounds) -> None:
    """Assume that a size lies in a range."""
    by_symbol = {str(size): size for size in symbols.values()}
    size = symbols[name] if name in symbols else by_symbol.get(name)
    if size is None:
        known = ", ".join(symbols) or "none"
        raise ShapeError(f"sizes={name!r}: the inputs have no such dimension; there are {known}")
    lo, hi, multiple = (*given, 1)[:3]
    if lo is not None:
        env.assume(size >= lo)
    if hi is not None:
        env.assume(size <= hi)
    if multiple is not None and multiple != 1:
        env.assume(size % multiple == 0)


def _loaded(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file."""
    with open_regular(path):
        pass
    try:
        proto = onnx.load(os.fspath(path), load_external_data=False)
    except OSError:
        raise
    except Exception as error:  # of protobuf, of its readers of JSON and text, or of Python's decoders
        raise ShapeError(f"{os.fspath(path)}: not an ONNX model: {error}") from None
    if not proto.HasField("graph"):
        raise ShapeError(f"{os.fspath(path)}: not an ONNX model: there is no graph in it")
    return proto


def _declared(env: GraphEnv, info: onnx.ValueInfoProto, symbols: dict[str, SymInt], lo: int) -> Value:
    """Declare an input of the model."""
    if info.type.WhichOneof("value") != "tensor_type" or not info.type.tensor_type.HasField("shape"):
        return UNKNOWN
    sizes: list[Int] = []
    for axis, dim in enumerate(info.type.tensor_type.shape.dim):
        if dim.HasField("dim_value"):
            if dim.dim_value < 0:
                raise ShapeError(f"{info.name}.shape[{axis}] is declared to be {dim.dim_value}, which is not a size")
            sizes.append(int(dim.dim_value))
            continue
        given = dim.dim_param or f"{info.name}_{axis}"
        size = symbols.get(given)
        if size is None:
            name = free_name(given, env.names, "dim_")
            size = symbols[given] = env.symbol(name, lo=lo, hi=LARGEST, source=f"{info.name}.shape[{axis}]")
        sizes.append(size)
    return Value(Shape(sizes, dtype=dtype_name(info.type.tensor_type.elem_type)))
