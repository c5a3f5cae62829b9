"""Memoized arithmetic: the nodes of our environment's numbers.

    >>> from torch._dynamo.source import ConstantSource
    >>> from torch.fx.experimental.symbolic_shapes import DimDynamic
    >>> from frontends.pytorch.shape_env import installed
    >>> from frontends.pytorch.shape_env.adapter import EngineShapeEnv
    >>> shapes = EngineShapeEnv()
    >>> with installed():
    ...     n = shapes.create_symintnode(shapes.create_symbol(8, ConstantSource("n"), DimDynamic.DYNAMIC), hint=8)
    >>> type(n.node).__name__, (n * 3).node.expr is (n * 3).node.expr
    ('EngineSymNode', True)

A tensor with symbolic sizes multiplies its sizes, compares strides with the products and sizes with 1, and so does the
next tensor of the same sizes: most operations of a compilation are repetitions. The resulting expression is cached by
the identities of the two operand expressions, and nothing else is: the hint is computed each time, and each result is a
new node, since tracers tell numbers apart by their nodes.

A comparison is made without evaluating it: sympy takes a millisecond or two to decide it, or to leave it open, and a
branch asks the engine in any case.

A result depends on the expressions and on the replacements of torch's `ShapeEnv`: the environment clears its cache,
`operations`, with each new one. An entry has its operands, which keeps their identities unique. Not cached are
remainders, which depend on ranges as well; operations recorded by a proxy mode, under translation validation or
provenance logging; and operands that are not both integers or both truth values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import sympy
import torch._logging._internal as records
import torch._ops as dispatch
from torch._C import _get_dispatch_mode, _TorchDispatchModeKey
from torch.fx.experimental.sym_node import SymNode

Implementation = Callable[..., Any]

ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "int_floordiv": operator.floordiv,
    "sym_max": max,
    "sym_min": min,
}
RELATIONS: Final = {"eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge}
COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {name: getattr(operator, name) for name in RELATIONS}
CONNECTIVES: Final[dict[str, Callable[[bool, bool], bool]]] = {
    "and_": operator.and_,
    "or_": operator.or_,
    "sym_and": operator.and_,
    "sym_or": operator.or_,
}
PROXY: Final = _TorchDispatchModeKey.PROXY


def is_recorded() -> bool:
    """Return True if a proxy mode records operations."""
    return _get_dispatch_mode(PROXY) is not None or dispatch._mode_stack_state_for_pre_dispatch.get(0) is not None


class EngineSymNode(SymNode):
    """A node of one of our environments."""

    shape_env: Any
    """An `EngineShapeEnv`."""

    def maybe_as_int(self) -> int | None:
        table, expression = self.shape_env.operations, self._expr
        key = ("maybe_as_int", id(expression))
        found = table.get(key)
        if found is None:
            found = table[key] = super().maybe_as_int(), expression
        return found[0]


def node_of(expression: Any, environment: Any, kind: type, hint: object, summation: bool) -> Any:
    """A new node, equal to what torch's constructor makes when there is nothing to compute or validate."""
    node = EngineSymNode.__new__(EngineSymNode)
    node._expr = expression
    node.shape_env = environment
    node.pytype = kind
    node._optimized_summation = summation
    node._expr_ver = -1  # torch replaces symbols when it is read
    node._expr_cache = None
    node._hint = hint
    node.constant = None
    node.fx_node = False
    return node


def once(name: str, operation: Implementation, given: type, result: type) -> Implementation:
    """A memoized operation on two numbers of one kind."""
    original = getattr(SymNode, name)
    relation = RELATIONS.get(name)

    def found_or_computed(self: Any, other: Any) -> Any:
        environment = self.shape_env
        if (
            type(other) is not EngineSymNode
            or other.shape_env is not environment
            or self.pytype is not given
            or other.pytype is not given
            or environment._translation_validation_enabled
            or records.GET_DTRACE_STRUCTURED
            or is_recorded()
        ):
            return original(self, other)
        x, y = self._hint, other._hint
        if x is None or y is None:
            hint = None
        elif type(x) is given and type(y) is given:
            hint = operation(x, y)
        else:
            return original(self, other)
        table = environment.operations
        a, b = self._expr, other._expr
        key = (name, id(a), id(b), self._optimized_summation, other._optimized_summation)
        found = table.get(key)
        if found is not None:
            return node_of(found[0], environment, result, hint, found[1])
        version = environment._replacements_version_counter
        node = original(self, other) if relation is None else related(self, other, relation, hint)
        if isinstance(node, SymNode) and node.pytype is result and environment._replacements_version_counter == version:
            table[key] = node._expr, node._optimized_summation, a, b
        return node

    return found_or_computed


def related(a: Any, b: Any, relation: type, hint: object) -> Any:
    """A comparison that sympy does not evaluate, unless both sides are equal or numbers."""
    x, y = a.expr, b.expr
    is_known = x == y or (x.is_number and y.is_number)
    return node_of(relation(x, y, evaluate=is_known), a.shape_env, bool, hint, False)


for table, given, result in ((ARITHMETIC, int, int), (COMPARISONS, int, bool), (CONNECTIVES, bool, bool)):
    for name, operation in table.items():
        setattr(EngineSymNode, name, once(name, operation, given, result))
