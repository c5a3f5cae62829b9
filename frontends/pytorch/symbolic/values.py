"""Operations and queries on symbolic numbers that torch's protocol needs: repeated operations of nodes are look-ups.

    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.values import largest, symbols_of
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=2)
    >>> [atom.name for atom in symbols_of(b * 2 + s)], largest(b, 1)
    (['b', 's'], b)
    >>> from frontends.pytorch.symbolic.node import Nodes
    >>> nodes = Nodes(env)
    >>> n, two = nodes.node(b), nodes.constant(2)
    >>> n.mul(two), n.mul(two) is n.mul(two)
    (2*b, True)
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from frontends.pytorch.symbolic import formulas
from shapes.symbolic import choices
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.terms.expr import Atom, Expr

Value: TypeAlias = SymInt | SymFloat | SymBool | int | float | bool
AnyValue: TypeAlias = Any
"""A `Value` whose kind only torch knows: torch calls the methods of that kind alone, and is Any here."""


def symbols_of(value: Value) -> list[Atom]:
    """The symbols of a number in order of declaration."""
    match value:
        case SymInt(expr=expr):
            found = expr.symbols
        case SymBool(prop=prop):
            found = prop.symbols
        case SymFloat(value=program):
            found = frozenset().union(*[argument.symbols for argument in program.arguments])
        case _:
            found = frozenset()
    return sorted(found, key=lambda atom: atom.serial)


def holds_floats(expr: Expr) -> bool:
    """Return True if an expression converts floats to integers."""
    return any(atom.kind == "function" for atom in expr.atoms)


def largest(one: AnyValue, other: AnyValue) -> Value:
    """The maximum of two numbers, simplified by bounds."""
    for value, limit in ((one, other), (other, one)):
        if type(limit) is int and type(value) is SymInt:
            least, _ = value.env.known.bounds(value.expr)
            if least is not None and least >= limit:
                return value
    return choices.sym_max(one, other)


Node: TypeAlias = Any
"""The class of nodes, which inherits these methods."""


def _operation(compute: Callable[..., AnyValue], error: type[Exception] | None = None) -> Callable[..., Node]:
    """A method of torch's protocol on one number or several, with memoization.

    Where Python would raise an `error` for an undefined integer, the run raises it.
    """
    index = object()

    def operation(self: Node, *others: Node) -> Node:
        memo = self.nodes.memo
        key = (index, self, *others)
        found = memo.get(key)
        if found is None:
            values = [self.value, *[other.value for other in others]]
            value = compute(*values)
            if error is not None and not any(map(is_of_floats, values)):
                self.nodes.define(value, error)
            found = memo[key] = self.nodes.node(value)
        return found

    return operation


def is_of_floats(value: Value) -> bool:
    """Return True if a number is a float or an integer converted from one: evaluating it raises Python's errors."""
    return not isinstance(value, int | SymInt) or (isinstance(value, SymInt) and holds_floats(value.expr))


class Computing:
    """Mixin: arithmetic and comparisons of a node with a `value` and its environment's `nodes`."""

    nodes: Any
    is_plain: bool
    value: AnyValue

    add = _operation(operator.add)
    sub = _operation(operator.sub)
    mul = _operation(operator.mul)
    mod = _operation(operator.mod, ZeroDivisionError)
    floordiv = int_floordiv = _operation(operator.floordiv, ZeroDivisionError)
    pow = float_pow = pow_by_natural = _operation(operator.pow)
    lshift = _operation(operator.lshift, ValueError)
    rshift = _operation(operator.rshift, ValueError)
    bitwise_and = _operation(operator.and_)
    bitwise_or = _operation(operator.or_)
    bitwise_xor = _operation(operator.xor)
    sym_min = _operation(choices.sym_min)
    sym_max = _operation(largest)
    neg = _operation(operator.neg)
    pos = _operation(operator.pos)
    abs = _operation(operator.abs)
    floor = _operation(math.floor)
    ceil = _operation(math.ceil)
    trunc = _operation(math.trunc)
    sym_float = _operation(choices.sym_float)
    sym_int = _operation(choices.sym_int)
    sym_sqrt = _operation(choices.sym_sqrt)
    is_integer = _operation(lambda value: value.is_integer())

    _quotient = _operation(operator.truediv)

    def truediv(self, other: Node) -> Node:
        """Python's quotient; where a gradient formula in C++ divides a number by zero, the machine's, under a guard."""
        if self.is_plain and formulas.is_running() and other.eq(self.nodes.constant(0)).guard_bool():
            return self.nodes.constant((torch.tensor(self.value, dtype=torch.float64) / 0).item())
        return self._quotient(other)

    int_truediv = float_truediv = truediv

    def round(self, digits: int | None = None) -> Node:
        return self.nodes.node(builtins.round(self.value, digits))

    def sym_sum(self, parts: Sequence[Node]) -> Node:
        return self.nodes.node(choices.sym_sum([part.value for part in parts]))

    # ------------------------------------------------------------------ comparisons and truth

    eq = _operation(operator.eq)
    ne = _operation(operator.ne)
    lt = _operation(operator.lt)
    le = _operation(operator.le)
    gt = _operation(operator.gt)
    ge = _operation(operator.ge)
    sym_and = and_ = _operation(choices.sym_and)
    sym_or = or_ = _operation(choices.sym_or)
    sym_not = _operation(choices.sym_not)
    sym_ite = _operation(choices.sym_ite)
