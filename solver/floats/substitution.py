"""Substitution into a function over floats, step by step, with constant folding.

    >>> from solver.floats import values as floats
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s, t = terms.symbol("s"), terms.symbol("t")
    >>> ratio = floats.floor(floats.quotient(s, t))
    >>> print(ratio.substitute({t.atom: terms.constant(4)}))
    floor(truediv(s, 4))
    >>> print(ratio.substitute({t.atom: s}))
    floor(truediv(s, s))
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.order import truth_as_integer
from solver.floats.programs import ROUNDINGS, Node, read_function
from solver.floats.values import Float
from solver.terms.expr import Expr
from solver.terms.prop import Prop

_SIGNS = {ast.GtE: ">=", ast.Gt: ">", ast.Eq: "==", ast.Lt: "<"}


@lru_cache(maxsize=4096)
def _steps(text: str) -> tuple[str, tuple[Node, ...], tuple[str, ...]]:
    """The outermost operation, its operands, and the signs between them."""
    name, operands, operations = read_function(text)
    return name, operands, tuple(_SIGNS[type(operation)] for operation in operations)


def applied(text: str, arguments: Sequence[Expr]) -> Expr | None:
    """The function of these arguments; None where a constant step of it has no value."""
    name, operands, signs = _steps(text)
    try:
        if name in ROUNDINGS:
            return _ROUNDINGS[name](as_float(operands[0], arguments))
        if name == "ordinal":
            return floats.ordinal(as_float(operands[0], arguments))
        if name == "computes":
            return floats.computes(as_float(operands[0], arguments))
        left, right = (_operand(operand, arguments) for operand in operands)
        return truth_as_integer(floats.compare(signs[0], left, right))
    except (ArithmeticError, ValueError, NotExpressible):
        return None


def _operand(node: Node, arguments: Sequence[Expr]) -> Float | Expr:
    return arguments[node.place] if node.operation == "integer" else as_float(node, arguments)


def _integer(node: Node, arguments: Sequence[Expr]) -> Expr:
    return arguments[0].interner.constant(int(node.value)) if node.operation == "constant" else arguments[node.place]


def as_float(node: Node, arguments: Sequence[Expr]) -> Float:
    """Rebuild the steps of a program on these arguments."""
    interner = arguments[0].interner
    match node.operation:
        case "constant":
            return floats.constant(interner, float(node.value))
        case "float":
            return floats.convert(_integer(node.operands[0], arguments))
        case "truediv":
            return floats.quotient(*[_integer(operand, arguments) for operand in node.operands])
        case "double":
            return floats.from_pattern(_integer(node.operands[0], arguments))
        case "from_ordinal":
            return floats.from_ordinal(_integer(node.operands[0], arguments))
        case "round":
            return floats.round_to(as_float(node.operands[0], arguments), int(node.operands[1].value))
        case "choose":
            test, a, b = node.operands
            p = Prop.gt(_integer(test, arguments), 0)
            return floats.choose(p, as_float(a, arguments), as_float(b, arguments))
        case "negate" | "abs" | "sqrt" as operation:
            unary = {"negate": floats.negate, "abs": floats.absolute, "sqrt": floats.square_root}
            return unary[operation](as_float(node.operands[0], arguments))
        case operation:
            first, second = (as_float(operand, arguments) for operand in node.operands)
            return _BINARY[operation](first, second)


_ROUNDINGS = {"floor": floats.floor, "ceil": floats.ceil, "trunc": floats.trunc, "round": floats.round_half_even}
_BINARY = {
    "+": floats.add,
    "-": floats.subtract,
    "*": floats.multiply,
    "/": floats.divide,
    "//": floats.floordiv,
    "%": floats.remainder,
    "**": floats.power,
}
