"""Differential debugging: run a graph node by node to the first result that differs from its prediction.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.debugging import debug
    >>> variant = trace(lambda x: (x.relu() @ x.t()).sum(0), (torch.randn(3, 4),))
    >>> steps = debug(variant, torch.randn(5, 7))
    >>> print(*steps, sep="\\n")  # doctest: +ELLIPSIS
    aten.relu.default          float32[x_size0, x_size1] = [5, 7]   (... in <lambda>)
    aten.t.default             float32[x_size1, x_size0] = [7, 5]   (... in <lambda>)
    aten.mm.default            float32[x_size0, x_size0] = [5, 5]   (... in <lambda>)
    aten.sum.dim_IntList       float32[x_size0] = [5]   (... in <lambda>)

Each tensor's sizes, strides, dtype and device are compared with the traced metadata, evaluated for the actual sizes. An
unbacked symbol is bound at its first occurrence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from frontends.pytorch.errors import TraceError
from frontends.pytorch.graphs.graph import GraphBuilder, is_symbol
from frontends.pytorch.recording.operations import Operation
from frontends.pytorch.symbolic.node import Node, value_of
from frontends.pytorch.symbolic.tensor import Result
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.floats.ordinals import pattern
from solver.terms.expr import Expr

if TYPE_CHECKING:
    from frontends.pytorch.graphs.captured import Captured
    from shapes.origin import Origin
    from solver.terms.expr import Atom


@dataclass(frozen=True, slots=True)
class Step:
    """One executed operator: predicted and actual result."""

    operator: str
    said: str
    sizes: tuple[int, ...]
    origin: Origin | None

    def __str__(self) -> str:
        return f"{self.operator:26s} {self.said} = {list(self.sizes)}   ({self.origin})"


class WrongPrediction(TraceError):
    """An operator's result differs from its prediction. `step` is the operator."""

    def __init__(self, step: Step, what: str) -> None:
        self.step = step
        super().__init__(
            f"{step.operator}: {what}\n"
            f"  said:   {step.said}\n"
            f"  at:     {step.origin}\n"
            "  fix:    the rule or the meta function of this operator is wrong; report it with these sizes"
        )


def debug(variant: Captured, *args: object) -> list[Step]:
    """Run the graph of a variant on these inputs, node by node, and check each result. Returns the executed operators.

    Raises:
        WrongPrediction: the first result that differs, with the operator and the line of the program.
    """
    builder = _Builder()
    inputs = [(each.name, each.result) for each in variant.inputs]
    builder.program(inputs, variant.number_atoms, variant.recording.operations)
    graph = builder.module([])
    return _Stepping(graph, builder, variant.number_atoms).steps(args)


class _Builder(GraphBuilder):
    """Builds a graph and records the operator of each node."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: dict[fx.Node, Operation] = {}

    def operation(self, operation: Operation) -> None:
        before = len(self.graph.nodes)
        super().operation(operation)
        for node in list(self.graph.nodes)[before:]:
            if node.target is operation.target:
                self.operations[node] = operation


class _Stepping(fx.Interpreter):
    def __init__(self, graph: fx.GraphModule, builder: _Builder, numbers: Sequence[Atom]) -> None:
        super().__init__(graph)
        self._operations = {node.name: operation for node, operation in builder.operations.items()}
        self._inputs = {node.name: result for result, node in builder._nodes.items() if node.op == "placeholder"}
        self._numbers = list(numbers)
        self._values: dict[Atom, int] = {}
        self._steps: list[Step] = []

    def steps(self, args: Sequence[object]) -> list[Step]:
        self.args_iter = iter(args)
        with torch.no_grad():
            for node in self.module.graph.nodes:
                self.env[node] = self.run_node(node)
        return self._steps

    def run_node(self, n: fx.Node) -> object:
        found = super().run_node(n)
        if n.op == "placeholder":
            result = self._inputs.get(n.name)
            if result is None:
                self._values[self._numbers.pop(0)] = found
            else:
                self._check(f"argument {n.name}", result, found, None)
        operation = self._operations.get(n.name)
        if operation is not None:
            outputs = operation.outputs
            given = found if outputs is operation.output else [found]
            for said, real in zip(outputs, given):
                if isinstance(said, Result) and isinstance(real, torch.Tensor):
                    self._check(str(n.target), said, real, operation.origin)
                elif isinstance(said, Node):
                    self._number(said, real)
        return found

    def _number(self, said: Node, real: Any) -> None:
        """An unbacked number as the integer of its symbol."""
        value = said.value
        if isinstance(value, SymInt):
            self._bind(value.expr, int(real))
        elif isinstance(value, SymBool):
            (atom,) = value.prop.symbols
            self._values[atom] = int(real)
        elif isinstance(value, SymFloat):
            (bits,) = value.value.arguments
            self._bind(bits, pattern(float(real)))

    def _bind(self, expr: Expr, value: int) -> None:
        if is_symbol(expr):
            (atom,) = expr.symbols
            self._values.setdefault(atom, value)

    def _check(self, operator: str, result: Result, real: torch.Tensor, origin: Origin | None) -> None:
        said = result.metadata
        if said is None:
            return
        step = Step(operator, repr(said), tuple(real.shape), origin)
        if real.dtype is not said.dtype:
            raise WrongPrediction(step, f"its dtype is {real.dtype}, not {said.dtype}")
        if real.device != said.device:
            raise WrongPrediction(step, f"it is on {real.device}, not {said.device}")
        if real.dim() != len(said.sizes):
            raise WrongPrediction(step, f"it has {real.dim()} axes, not {len(said.sizes)}")
        for axis, (size, actual) in enumerate(zip(said.sizes, real.shape)):
            self._compare(step, f"size {axis}", size, actual)
        if real.numel():
            for axis, (stride, actual) in enumerate(zip(said.strides, real.stride())):
                if real.shape[axis] > 1:
                    self._compare(step, f"stride {axis}", stride, actual)
        if operator.startswith("aten."):
            self._steps.append(step)

    def _compare(self, step: Step, what: str, said: object, actual: int) -> None:
        if isinstance(said, torch.SymInt):
            expr = value_of(said).expr
            self._bind(expr, actual)
            if not expr.symbols <= self._values.keys():
                return
            expected = expr.evaluate(self._values)
        else:
            expected = said
        if expected != actual:
            raise WrongPrediction(step, f"its {what} is {actual}, not {said} = {expected}{self._sizes()}")

    def _sizes(self) -> str:
        named = ", ".join([f"{atom.name}={value}" for atom, value in self._values.items()])
        return f" at {named}" if named else ""
