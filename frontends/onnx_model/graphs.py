"""Graphs walked from the inputs on: every node's outputs from what is known of its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import onnx
from onnx import numpy_helper

from frontends.onnx_model.nodes import Node, NotKnown, operator
from frontends.onnx_model.values import UNKNOWN, Value, computed, constant
from shapes.choices import Int, sym_ite, sym_not
from shapes.env import ShapeEnv
from shapes.errors import Contradiction, ShapeError, UndecidedGuard
from shapes.origin import Origin
from shapes.rules import Shape
from shapes.rules.broadcasting import same
from shapes.symbool import SymBool

if TYPE_CHECKING:
    from shapes.reading import Question

NAMELESS: Final = ("", "ai.onnx")
"""The domains of the standard operators."""

class Refused(ShapeError):
    """A node does not accept its inputs."""


class GraphEnv(ShapeEnv):
    """An environment in which requirements say which node they are of."""

    node: str = ""

    def require(self, question: Question, message: str = "") -> None:
        super().require(question, f"{self.node}: {message}" if self.node else message)


class Walk:
    """One pass over a model."""

    def __init__(self, env: GraphEnv, model: onnx.ModelProto, file: str) -> None:
        self.env, self.file = env, file
        self.versions = {one.domain: one.version for one in model.opset_import}
        self.functions = {(one.domain, one.name): one for one in model.functions}
        self.unknown: dict[str, str] = {}
        """By value, why its sizes are not known."""
        self.count = 0

    def graph(self, graph: onnx.GraphProto, values: dict[str, Value]) -> None:
        """Add what the nodes of a graph give to the values."""
        for tensor in graph.initializer:
            values[tensor.name] = _initializer(tensor)
        for sparse in graph.sparse_initializer:
            values[sparse.values.name] = Value(Shape(sparse.dims, dtype=dtype_name(sparse.values.data_type)))
        self.nodes(graph.node, values)

    def nodes(self, nodes: Sequence[onnx.NodeProto], values: dict[str, Value]) -> None:
        for node in nodes:
            self.count += 1
            with self._at(node):
                outputs = self._outputs(node, values)
            for name, value in zip(node.output, outputs):
                if name:
                    values[name] = value

    @contextmanager
    def _at(self, node: onnx.NodeProto) -> Iterator[None]:
        """Let what is committed inside come from this node."""
        outer, label = self.env.node, label_of(node)
        self.env.node = label
        try:
            with self.env.at(Origin(self.file, self.count, label)):
                yield
        finally:
            self.env.node = outer

    def _outputs(self, node: onnx.NodeProto, values: dict[str, Value]) -> list[Value]:
        try:
            outputs = self._run(node, values)
        except (NotKnown, UndecidedGuard) as reason:
            for name in node.output:
                self.unknown[name] = f"{label_of(node)}: {reason}"
            return [UNKNOWN for _ in node.output]
        except ShapeError as refusal:
            inputs = ", ".join([f"{name}: {values[name].shape}" for name in node.input if name in values])
            raise Refused(f"{label_of(node)} does not accept ({inputs}): {refusal}") from refusal
        return outputs + [UNKNOWN] * (len(node.output) - len(outputs))

    def _run(self, node: onnx.NodeProto, values: dict[str, Value]) -> list[Value]:
        inputs = [values.get(name, UNKNOWN) if name else None for name in node.input]
        function = self.functions.get((node.domain, node.op_type))
        if function is not None:
            return self._call(node, function, inputs)
        if node.op_type == "If" and node.domain in NAMELESS:
            return self._branch(node, inputs, values)
        attributes = {one.name: _attribute(one) for one in node.attribute}
        version = self.versions.get("", self.versions.get("ai.onnx", 1))
        if node.domain in NAMELESS and node.op_type in operator:
            return operator.run(Node(self.env, node.op_type, inputs, len(node.output), attributes, version))
        if node.domain in NAMELESS and onnx.defs.has(node.op_type, version):
            schema = onnx.defs.get_schema(node.op_type, version)
            if schema.has_function:
                return self._call(node, schema.function_body, inputs)
        name = ".".join([*[node.domain] * bool(node.domain), node.op_type])
        raise NotKnown(f"there is no rule for {name}")

    def _call(self, node: onnx.NodeProto, function: onnx.FunctionProto, inputs: Sequence[Value | None]) -> list[Value]:
        """What the nodes of a function give."""
        values = {name: value for name, value in zip(function.input, inputs) if value is not None}
        given = {one.name: one for one in [*function.attribute_proto, *node.attribute]}
        self.nodes([_bound(inner, given) for inner in function.node], values)
        return [values.get(name, UNKNOWN) for name in function.output]

    # ------------------------------------------------------------------ branches

    def _branch(self, node: onnx.NodeProto, inputs: Sequence[Value | None], values: dict[str, Value]) -> list[Value]:
        """What the branch gives that is taken; where that is open, what both give, as far as it agrees."""
        branches = {one.name: one.g for one in node.attribute}
        then, otherwise = branches["then_branch"], branches["else_branch"]
        condition = self._condition(inputs)
        if isinstance(condition, bool):
            return self._inside(then if condition else otherwise, values)
        found = []
        for graph, taken in ((then, condition), (otherwise, sym_not(condition))):
            try:
                with self.env.hypothesis(taken):
                    found.append(self._inside(graph, values))
            except Contradiction:
                continue  # this branch is never taken
        if len(found) < 2:
            return found[0]
        return [self._either(condition, one, other) for one, other in zip(*found, strict=True)]

    def _condition(self, inputs: Sequence[Value | None]) -> bool | SymBool:
        """The truth on which a branch depends; a new one where only a run tells it."""
        (value,) = inputs
        if value is None or value.elements is None:
            return self.env.unbacked(kind="bool")
        found = value.elements.reshape(-1).tolist()[0]
        return found if isinstance(found, SymBool) else bool(found)

    def _inside(self, graph: onnx.GraphProto, values: dict[str, Value]) -> list[Value]:
        inner = dict(values)
        self.graph(graph, inner)
        return [inner[output.name] for output in graph.output]

    def _either(self, condition: SymBool, one: Value, other: Value) -> Value:
        """What is known of a value that is one of two."""
        if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
            return UNKNOWN
        sizes = [self._either_size(condition, a, b) for a, b in zip(one.shape, other.shape, strict=True)]
        shape = Shape(sizes, dtype=one.dtype)
        if one.elements is None or other.elements is None or one.elements.shape != other.elements.shape:
            return Value(shape)
        if one.elements.dtype.kind == "f" or other.elements.dtype.kind == "f":
            return Value(shape)
        pick = np.frompyfunc(lambda a, b: a if a is b else sym_ite(condition, a, b), 2, 1)
        return computed(np.asarray(pick(one.elements, other.elements), dtype=object), one.dtype)

    def _either_size(self, condition: SymBool, a: Int, b: Int) -> Int:
        return a if same(a, b) else sym_ite(condition, a, b)


def label_of(node: onnx.NodeProto) -> str:
    """How errors and guards call a node."""
    return f"{node.op_type} {node.name or next(iter(node.output), '')}".strip()


def dtype_name(kind: int) -> str | None:
    """The name of an element type of ONNX; None for one that is not named."""
    if kind == onnx.TensorProto.STRING:
        return "string"
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(kind).name)
    except (KeyError, ValueError):
        return None


def identifier(name: str) -> str:
    """A name as symbols may have it."""
    found = re.sub(r"\W+", "_", name).strip("_") or "dim"
    return f"d{found}" if found[0].isdigit() else found


def _initializer(tensor: onnx.TensorProto) -> Value:
    """A weight; its numbers only where they are few."""
    from frontends.onnx_model.values import MOST_ELEMENTS

    if int(np.prod(tensor.dims, dtype=np.int64)) > MOST_ELEMENTS or tensor.data_location == tensor.EXTERNAL:
        return Value(Shape(tensor.dims, dtype=dtype_name(tensor.data_type)))
    return constant(numpy_helper.to_array(tensor))


def _attribute(attribute: onnx.AttributeProto) -> object:
    """The value of an attribute, tensors as arrays."""
    found = onnx.helper.get_attribute_value(attribute)
    return numpy_helper.to_array(found) if isinstance(found, onnx.TensorProto) else found


def _bound(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function with the attributes that it takes from the call."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    result = onnx.NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            result.attribute.append(attribute)
        elif attribute.ref_attr_name in given:
            copy = onnx.AttributeProto()
            copy.CopyFrom(given[attribute.ref_attr_name])
            copy.name = attribute.name
            result.attribute.append(copy)
    return result
