"""Build a `torch.fx.GraphModule` from a recording: operators as nodes, each size computed once, checks as early as
possible.

Sizes of inputs are read at their first use; size expressions are lowered with common subexpressions shared
(`shapes.guards.lowering`). A runtime check follows the last value that it needs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeAlias

import torch
from torch import fx
from torch.fx._lazy_graph_module import _LazyGraphModule

from backends.results import PACKED, assert_or_raise, check_results
from frontends.pytorch.errors import EscapedTensor, TraceError
from frontends.pytorch.recording.operations import Operation, is_custom, is_view
from frontends.pytorch.recording.predictions import predicted_by
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from frontends.pytorch.symbolic.values import holds_floats, symbols_of
from shapes.env import ShapeEnv
from shapes.guards.lowering import Lowering, Operations
from shapes.rules.memory_order import is_packed
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.decide.verdict import Always
from solver.floats.ordinals import pattern
from solver.floats.programs import program
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function as registered_function
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.guards.guards import RuntimeAssert
    from shapes.guards.lowering import Operation as Lowered

aten: Final = torch.ops.aten
Condition: TypeAlias = tuple[Prop, str, type[Exception]]
"""A condition of a run, with the error that it raises."""

CALLS: Final[Mapping[str, Callable[..., object]]] = {
    **{name: getattr(operator, name) for name in ("mul", "floordiv", "mod", "ge", "gt", "le", "lt", "eq", "ne")},
    "max": torch.sym_max,
    "min": torch.sym_min,
    "bitand": operator.and_,
    "power": operator.pow,
    "abs": operator.abs,
    "select": torch.sym_ite,
}


PATTERN: Final = "double({0})"
"""The text of a float that is known by its bits."""


def evaluated(text: str, *arguments: int) -> float:
    """A float of sizes, as Python computes it, which raises Python's error where it has none."""
    return program(text).evaluate(*arguments)


def applied(name: str, *arguments: int) -> int:
    """An integer function of sizes."""
    return registered_function(name).evaluate(*arguments)


class Sizes:
    """The nodes that compute sizes; symbols are bound to nodes when their values become available."""

    def __init__(self, graph: fx.Graph) -> None:
        self.graph = graph
        self.bound: dict[Atom, Callable[[], fx.Node]] = {}
        """Readers of the values of symbols."""
        self._leaves: list[Atom] = []
        self._operations = Operations()
        self._lowering = Lowering(self._operations, {})
        self._nodes: dict[Lowered, fx.Node | int | bool] = {}

    def bind(self, symbol: Expr, read: Callable[[], fx.Node]) -> None:
        """Bind a symbol to a node that is created when it is needed."""
        (atom,) = symbol.symbols
        if atom not in self.bound:
            self._lowering.bind(symbol, self._operations.leaf(len(self._leaves)))
            self._leaves.append(atom)
            self.bound[atom] = read

    def number(self, value: SymInt | SymFloat | SymBool | float) -> fx.Node | float:
        """The node of a number, created on demand."""
        if isinstance(value, SymBool):
            return self.truth(value.prop)
        if not isinstance(value, SymInt | SymFloat):
            return value
        found = undefined(value) if reads_floats(value) else None
        if found is not None:
            self.check(*found)
        return self.expression(value.expr) if isinstance(value, SymInt) else self._float(value)

    def check(self, condition: Prop, message: str, error: type[Exception]) -> None:
        """A check at run time."""
        node = self.truth(condition)
        if error is RuntimeError:
            self.graph.call_function(aten._assert_scalar.default, (node, message))
        else:
            self.graph.call_function(assert_or_raise, (node, message, error.__name__))

    def expression(self, e: Expr) -> fx.Node | int:
        """The node of an expression over sizes."""
        return self._node(self._complete(self._lowering.expression(e)))

    def truth(self, prop: Prop) -> fx.Node | bool:
        return self._node(self._complete(self._lowering.proposition(prop)))

    def _complete(self, lowered: Lowered) -> Lowered:
        """Check that every symbol in it is bound."""
        missing = [atom.name for atom in self._lowering.missing]
        if missing:
            raise TraceError(f"{', '.join(missing)}: used before the operator that computes the value")
        return lowered

    def _float(self, value: SymFloat) -> fx.Node | float:
        text = value.value.text
        operands = [self.expression(e) for e in value.value.arguments]
        bits = operands[0] if text == PATTERN else None
        if isinstance(bits, fx.Node) and bits.target is pattern:
            # the float that these are the bits of
            return bits.args[0]
        return self._called(evaluated, text, operands)

    def _called(self, function: Callable[..., float], name: str, operands: Sequence[object]) -> fx.Node | float:
        if any(isinstance(operand, fx.Node) for operand in operands):
            return self.graph.call_function(function, (name, *operands))
        return function(name, *operands)

    def _node(self, lowered: Lowered) -> fx.Node | int | bool:
        found = self._nodes.get(lowered)
        if found is None:
            found = self._nodes[lowered] = self._made(lowered)
        return found

    def _made(self, lowered: Lowered) -> fx.Node | int | bool:
        code = lowered.code
        if code == "leaf":
            return self.bound[self._leaves[lowered.number]]()
        if code == "constant":
            return lowered.number
        if code in ("true", "false"):
            return code == "true"
        operands = [self._node(operand) for operand in lowered.operands]
        call = self.graph.call_function
        if code == "power" and type(operands[0]) is int and operands[0] < 0:
            # in the text of a graph the sign would apply to the whole power
            operands[0] = call(operator.neg, (-operands[0],))
        if code == "sum":
            return self._sum(lowered, operands)
        if code == "relu":
            return call(torch.sym_max, (operands[0], 0))
        if code in ("all", "any"):
            join = operator.and_ if code == "all" else operator.or_
            return reduce(lambda one, other: call(join, (one, other)), operands)
        if code == "call":
            return self._called(applied, lowered.name, operands)
        return call(CALLS[code], tuple(operands))

    def _sum(self, lowered: Lowered, operands: Sequence[fx.Node | int | bool]) -> fx.Node:
        call = self.graph.call_function
        total: object = None
        for coefficient, operand in zip(lowered.coefficients, operands):
            if total is not None and coefficient == -1:
                total = call(operator.sub, (total, operand))
            else:
                part = operand if coefficient == 1 else call(operator.mul, (operand, coefficient))
                total = part if total is None else call(operator.add, (total, part))
        if lowered.number:
            total = call(operator.add if lowered.number > 0 else operator.sub, (total, abs(lowered.number)))
        return total


def undefined(value: SymInt | SymFloat) -> Condition | None:
    """The condition under which a number exists, with Python's error if it does not; None if it does.

    Otherwise it is 0 to the engine: a quotient, or the integer of a float.
    """
    domain, total = value.domain, value.operations.true
    if domain is total:
        return None
    assert isinstance(value.env, ShapeEnv)
    if isinstance(value.env.ask(value.operations.boolean(domain, total)), Always):
        return None
    if isinstance(value, SymInt) and reads_floats(value):
        return domain, "cannot convert float to integer", OverflowError
    return domain, "division by zero", ZeroDivisionError


def reads_floats(value: SymInt | SymFloat) -> bool:
    """Return True if a number is computed from floats of the run, so that Python does not raise its error."""
    return any(map(holds_floats, value.value.arguments if isinstance(value, SymFloat) else (value.expr,)))


class GraphBuilder:
    """Converts the operators of a recording to nodes."""

    def __init__(self, asserts: Sequence[RuntimeAssert] = ()) -> None:
        self.graph = fx.Graph()
        self.sizes = Sizes(self.graph)
        self.attributes: dict[str, torch.Tensor] = {}
        self._nodes: dict[Result, fx.Node] = {}
        self._waiting = list(asserts)

    def number(self, symbol: Atom, *, is_float: bool) -> None:
        """An input that is the value of a symbol, or the float that has these bits."""
        node = self.graph.placeholder(symbol.name)
        self.sizes.bind(symbol.expr, lambda: self.graph.call_function(pattern, (node,)) if is_float else node)

    def constant(self, result: Result) -> fx.Node:
        name = f"constant_{len(self.attributes)}"
        assert result.constant is not None
        self.attributes[name] = result.constant
        node = self._nodes[result] = self.graph.get_attr(name)
        return node

    def tensor(self, node: fx.Node, result: Result) -> None:
        """Give a tensor its node, and bind the symbols that are its sizes, strides or offset."""
        self._nodes[result] = node
        metadata = result.metadata
        if metadata is None:
            return
        for values, reading in ((metadata.sizes, aten.sym_size.int), (metadata.strides, aten.sym_stride.int)):
            for axis, value in enumerate(values):
                self._bind(value, reading, (node, axis))
        self._bind(metadata.offset, aten.sym_storage_offset.default, (node,))

    def _bind(self, value: object, reading: object, args: tuple[object, ...]) -> None:
        if isinstance(value, torch.SymInt):
            expr = value.node.value.expr
            if is_symbol(expr):
                self.sizes.bind(expr, lambda: self.graph.call_function(reading, args))

    def operation(self, operation: Operation) -> None:
        args = tuple([self.argument(arg) for arg in operation.args])
        kwargs = {name: self.argument(value) for name, value in operation.kwargs.items()}
        node = self.graph.call_function(operation.target, args, kwargs)
        if is_custom(operation.target):
            node = self._checked(operation, node, (*args, *kwargs.values()))
        is_list = isinstance(operation.output, list)
        for place, each in enumerate(operation.outputs):
            if each is None or each in self._nodes:
                continue
            item = self.graph.call_function(operator.getitem, (node, place)) if is_list else node
            (self.tensor if isinstance(each, Result) else self._bind_number)(item, each)
        self._checks()

    def _checked(self, operation: Operation, node: fx.Node, operands: tuple[object, ...]) -> fx.Node:
        """Compare a custom operator's result with its prediction before it is used."""
        outputs = operation.outputs
        made = [each if isinstance(each, Result) and each not in self._nodes else None for each in outputs]
        if not any(made):
            return node
        predicted = tuple([None if each is None else self._predicted(each) for each in made])
        what = (str(operation.target.name()), prediction_of(operation), is_view(operation.target))
        return self.graph.call_function(check_results, (node, operands, predicted, *what))

    def _predicted(self, result: Result) -> tuple[object, ...]:
        """The prediction of a result."""
        kind = result.metadata
        assert kind is not None
        sizes, strides = [tuple(map(self._known, values)) for values in (kind.sizes, kind.strides)]
        layout = PACKED if None in strides and is_packed(kind.shape) else strides
        return sizes, layout, kind.dtype, kind.device

    def _known(self, number: object) -> fx.Node | int | None:
        """The node of a size if all of its symbols are bound."""
        if not isinstance(number, torch.SymInt):
            return number
        expr = number.node.value.expr
        return self.sizes.expression(expr) if are_bound(expr.symbols, self.sizes.bound) else None

    def _bind_number(self, node: fx.Node, number: Node) -> None:
        (atom,) = symbols_of(number.value)
        calls = {SymBool: (torch.sym_ite, (node, 1, 0)), SymFloat: (pattern, (node,))}
        call = calls.get(type(number.value))
        self.sizes.bind(atom.expr, lambda: self.graph.call_function(*call) if call else node)

    def _checks(self) -> None:
        """Emit the checks whose symbols are all bound."""
        for condition in due(self._waiting, self.sizes.bound):
            self.sizes.check(*condition)

    def argument(self, value: object) -> object:
        if isinstance(value, Result):
            found = self._nodes.get(value)
            if found is None and value.constant is None:
                raise EscapedTensor("a tensor of another trace is used, which the program has kept")
            return self.constant(value) if found is None else found
        if isinstance(value, Node):
            return self.sizes.number(value.value)
        if isinstance(value, list):
            return [self.argument(item) for item in value]
        return value

    def module(self, outputs: object) -> fx.GraphModule:
        """The graph with these outputs."""
        self._checks()
        if self._waiting:
            raise TraceError(f"no operator computes the values that a check needs: {self._waiting[0]}")
        self.graph.output(outputs)
        root = torch.nn.Module()
        for name, tensor in self.attributes.items():
            if isinstance(tensor, torch.nn.Parameter):
                root.register_parameter(name, tensor)
            else:
                root.register_buffer(name, tensor)
        return _LazyGraphModule(root, self.graph)


def are_bound(symbols: Iterable[Atom], bound: Container[Atom]) -> bool:
    """Return True if these symbols have values, or those that define them."""
    return all(
        atom in bound or atom.definition is not None and are_bound(atom.definition.symbols, bound) for atom in symbols
    )


def due(waiting: list[RuntimeAssert], bound: Container[Atom]) -> list[Condition]:
    """Remove the checks whose symbols all have values, and return their conditions."""
    found = [check for check in waiting if are_bound(check.prop.symbols, bound)]
    if found:
        waiting[:] = [check for check in waiting if not are_bound(check.prop.symbols, bound)]
    return [condition for check in found for condition in conditions_of(check)]


def prediction_of(operation: Operation) -> str:
    """The source of a custom operator's prediction, and the program's line."""
    where = f", called at {operation.origin}" if operation.origin is not None else ""
    return predicted_by(operation.target) + where


def conditions_of(check: RuntimeAssert) -> Iterator[Condition]:
    """The conditions of a check, each with the error that it raises: it is defined, and holds."""
    if check.domain.kind != "true":
        if any(atom.kind == "function" for atom in check.prop.schedule):
            yield check.domain, "cannot convert float to integer", OverflowError
        else:
            yield check.domain, "division by zero", ZeroDivisionError
    yield check.prop, f"{check}  ({check.origin})" if check.origin is not None else str(check), check.error


def is_symbol(expr: Expr) -> bool:
    """Return True if an expression is a single symbol."""
    return len(expr.symbols) == 1 and next(iter(expr.symbols)).expr is expr


def numbered(name: str, results: Iterable[Result]) -> list[tuple[str, Result]]:
    return [(f"{name}_{place}", result) for place, result in enumerate(results)]
