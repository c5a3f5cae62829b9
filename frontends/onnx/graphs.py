"""Abstract interpretation of graphs in topological order: each node's outputs from what is known of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import onnx
from onnx import numpy_helper

from frontends.onnx.nodes import Node, NotKnown, operator
from frontends.onnx.values import UNKNOWN, Value, computed, constant, few
from shapes.env import ShapeEnv
from shapes.environment.reader import Question
from shapes.errors import Contradiction, ShapeError, UndecidedGuard
from shapes.origin import Origin
from shapes.rules import Shape
from shapes.rules.broadcasting import same
from shapes.symbolic.choices import Int, sym_ite, sym_not
from shapes.symbolic.numbers import SymBool

NAMELESS: Final = ("", "ai.onnx")
"""The domains of the standard operators."""
MOST_CALLED: Final = 100_000
"""Limit of nodes visited in functions and branches: a few that call each other may expand to any number."""
MALFORMED: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of an operator whose attributes or inputs violate its schema, where no check has caught that before."""


class Refused(ShapeError):
    """A node does not accept its inputs."""


class GraphEnv(ShapeEnv):
    """An environment whose requirements name the node that they come from."""

    node: str = ""

    def require(self, question: Question, message: str = "", *, error: type[Exception] = RuntimeError) -> None:
        super().require(question, f"{self.node}: {message}" if self.node else message, error=error)


class Walk:
    """One pass over a model."""

    def __init__(self, env: GraphEnv, model: onnx.ModelProto, file: str) -> None:
        self.env, self.file = env, file
        self.versions = {one.domain: one.version for one in model.opset_import}
        self.functions = {(one.domain, one.name): one for one in model.functions}
        self.unknown: dict[str, str] = {}
        """The reason for which the sizes of a value are unknown."""
        self.count = 0
        self._called = 0
        self._calls: list[tuple[str, str]] = []

    def graph(self, graph: onnx.GraphProto, values: dict[str, Value]) -> None:
        """Infer the values of a graph's nodes, in place.

        Raises:
            ShapeError: a weight is malformed, a value has two makers, or none.
        """
        for tensor in graph.initializer:
            try:
                values[tensor.name] = weight(tensor)
            except ShapeError as error:
                raise Refused(f"initializer `{tensor.name}`: {error}") from None
        for sparse in graph.sparse_initializer:
            values[sparse.values.name] = Value(Shape(_dims(sparse.dims), dtype=dtype_name(sparse.values.data_type)))
        self.nodes(graph.node, values)
        for output in graph.output:
            if output.name not in values:
                raise Refused(f"the output `{output.name}` is made by no node")

    def nodes(self, nodes: Sequence[onnx.NodeProto], values: dict[str, Value]) -> None:
        made: set[str] = set()
        for node in nodes:
            self.count += 1
            for name in node.output:
                if name in made:
                    raise Refused(f"{label_of(node)}: there is another node that makes `{name}`")
                made.update([name] if name else [])
            with self._at(node):
                outputs = self._outputs(node, values)
            for name, value in zip(node.output, outputs):
                if name:
                    values[name] = value

    @contextmanager
    def _at(self, node: onnx.NodeProto) -> Iterator[None]:
        """Attribute the commitments inside of the block to this node."""
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
        except (NotKnown, UndecidedGuard) as unknown:
            for name in node.output:
                self.unknown[name] = f"{label_of(node)}: {unknown}"
            return [UNKNOWN for _ in node.output]
        except (ShapeError, *MALFORMED) as refusal:
            inputs = ", ".join([f"{name}: {values[name].shape}" for name in node.input if name in values])
            known = isinstance(refusal, ShapeError)
            reason = str(refusal) if known else f"malformed inputs or attributes ({type(refusal).__name__}: {refusal})"
            raise Refused(f"{label_of(node)} does not accept ({inputs}): {reason}") from refusal
        return outputs + [UNKNOWN] * (len(node.output) - len(outputs))

    def _run(self, node: onnx.NodeProto, values: dict[str, Value]) -> list[Value]:
        missing = [name for name in node.input if name and name not in values]
        if missing:
            raise ShapeError(f"`{missing[0]}` is not an input, a weight, or the output of an earlier node")
        inputs = [values[name] if name else None for name in node.input]
        function = self.functions.get((node.domain, node.op_type))
        if function is not None:
            return self._call(node, function, inputs)
        if node.op_type == "If" and node.domain in NAMELESS:
            return self._branch(node, inputs, values)
        attributes = {one.name: _attribute(one) for one in node.attribute}
        version = self.versions.get("", self.versions.get("ai.onnx", 1))
        if not 1 <= version <= onnx.defs.onnx_opset_version():
            newest = onnx.defs.onnx_opset_version()
            raise NotKnown(f"operator set {version}: this version of the package onnx knows 1 to {newest}")
        if node.domain in NAMELESS and node.op_type in operator:
            return operator.run(Node(self.env, node.op_type, inputs, len(node.output), attributes, version))
        if node.domain in NAMELESS and onnx.defs.has(node.op_type, version):
            schema = onnx.defs.get_schema(node.op_type, version)
            if schema.has_function:
                return self._call(node, schema.function_body, inputs)
        name = ".".join([*[node.domain] * bool(node.domain), node.op_type])
        raise NotKnown(f"there is no rule for {name}")

    def _call(self, node: onnx.NodeProto, function: onnx.FunctionProto, inputs: Sequence[Value | None]) -> list[Value]:
        """Infer the outputs of a function by visiting its nodes."""
        name = (function.domain, function.name)
        if name in self._calls:
            raise ShapeError(f"the function {function.name} calls itself")
        self._enter(function.node)
        values = dict.fromkeys(function.input, UNKNOWN)
        values.update({name: value for name, value in zip(function.input, inputs) if value is not None})
        given = {one.name: one for one in [*function.attribute_proto, *node.attribute]}
        self._calls.append(name)
        try:
            self.nodes([_bound(inner, given) for inner in function.node], values)
        finally:
            self._calls.pop()
        return [values.get(name, UNKNOWN) for name in function.output]

    def _enter(self, nodes: Sequence[onnx.NodeProto]) -> None:
        """Count visited nodes against the limit."""
        self._called += len(nodes)
        if self._called > MOST_CALLED:
            raise Refused(f"functions and branches with more than {MOST_CALLED:,} nodes, each counted where it is used")

    # ------------------------------------------------------------------ branches

    def _branch(self, node: onnx.NodeProto, inputs: Sequence[Value | None], values: dict[str, Value]) -> list[Value]:
        """The outputs of the branch that is taken; if that is unknown, those of both, merged under the condition."""
        branches = {one.name: one.g for one in node.attribute if one.type == onnx.AttributeProto.GRAPH}
        for name in ("then_branch", "else_branch"):
            if name not in branches:
                raise ShapeError(f"the attribute {name} is missing")
        then, otherwise = branches["then_branch"], branches["else_branch"]
        if not len(then.output) == len(otherwise.output) == len(node.output):
            counts = f"{len(then.output)} and {len(otherwise.output)}"
            raise ShapeError(f"the branches give {counts} values: expected {len(node.output)}")
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
        if not found:
            raise ShapeError("neither branch can be taken")
        if len(found) < 2:
            return found[0]
        return [self._either(condition, one, other) for one, other in zip(*found, strict=True)]

    def _condition(self, inputs: Sequence[Value | None]) -> bool | SymBool:
        """The condition of a branch; an unbacked one if it is data-dependent."""
        if len(inputs) != 1:
            raise ShapeError(f"{len(inputs)} inputs: expected the condition")
        (value,) = inputs
        if value is None or value.elements is None:
            return self.env.unbacked(kind="bool")
        if value.elements.size != 1:
            raise ShapeError(f"the condition has {value.elements.size} elements: expected one")
        found = value.elements.reshape(-1).tolist()[0]
        return found if isinstance(found, SymBool) else bool(found)

    def _inside(self, graph: onnx.GraphProto, values: dict[str, Value]) -> list[Value]:
        self._enter(graph.node)
        inner = dict(values)
        self.graph(graph, inner)
        return [inner[output.name] for output in graph.output]

    def _either(self, condition: SymBool, one: Value, other: Value) -> Value:
        """The value that the condition selects of two, as far as it is known."""
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
    """The name of a node in errors and guards."""
    return f"{node.op_type} {node.name or next(iter(node.output), '')}".strip()


def dtype_name(kind: int) -> str | None:
    """The name of an element type of ONNX; None for one that is not named."""
    if kind == onnx.TensorProto.STRING:
        return "string"
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(kind).name)
    except (KeyError, ValueError):
        return None


def element_type(dtype: str | None) -> int | None:
    """The number that ONNX has for a dtype."""
    return next((kind for kind in onnx.TensorProto.DataType.values() if kind and dtype_name(kind) == dtype), None)


def weight(tensor: onnx.TensorProto) -> Value:
    """A weight. Its elements are read only if they are few and stored in the model: no other file is opened.

    Raises:
        ShapeError: it has a negative size, or its data does not match its sizes.
    """
    dims, dtype = _dims(tensor.dims), dtype_name(tensor.data_type)
    if not few(dims) or tensor.data_location == tensor.EXTERNAL or dtype is None:
        return Value(Shape(dims, dtype=dtype))
    try:
        return constant(numpy_helper.to_array(tensor))
    except MALFORMED as error:
        raise ShapeError(f"its data does not match its sizes {tuple(dims)}: {error}") from None


def _dims(dims: Sequence[int]) -> list[int]:
    for size in dims:
        if size < 0:
            raise ShapeError(f"{size} is not a size")
    return [int(size) for size in dims]


def _attribute(attribute: onnx.AttributeProto) -> object:
    """The value of an attribute: small dense tensors as arrays, others as values without elements."""
    try:
        found = onnx.helper.get_attribute_value(attribute)
    except ValueError as error:
        raise ShapeError(f"the attribute {attribute.name} is malformed: {error}") from None
    if not isinstance(found, onnx.TensorProto):
        return found
    value = weight(found)
    return value if value.elements is None else value.elements.astype(np.dtype(value.dtype))


def _bound(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function with its attribute references bound to the call's attributes."""
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
