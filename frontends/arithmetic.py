"""Evaluate arithmetic in Python's syntax with the symbols and functions of one side: ours, or another library's.

    >>> import ast
    >>> from frontends.arithmetic import Walk
    >>> sizes = {"b": 3, "s": 8}
    >>> walk = Walk(sizes.__getitem__, {"min": min}, (ast.Add, ast.Mult), lambda node: ValueError(ast.unparse(node)))
    >>> walk.read(ast.parse("2*b + min(s, 4)", mode="eval").body)
    10
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

LARGEST_EXPONENT: Final = 64


@dataclass(frozen=True, slots=True)
class Walk:  # type: ignore[explicit-any]
    """Evaluates syntax trees with the symbols, functions and operators of one side."""

    symbol: Callable[[str], Any]  # type: ignore[explicit-any]  # ours, or another library's
    calls: Mapping[str, Callable[..., Any]]  # type: ignore[explicit-any]
    operators: Collection[type[ast.operator]]
    refusal: Callable[[ast.expr], Exception]

    def read(self, node: ast.expr) -> Any:  # type: ignore[explicit-any]
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return self.symbol(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(exponent))) if (
                0 <= exponent <= LARGEST_EXPONENT
            ):
                return math.prod([self.read(left)] * exponent)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in self.operators:
                return OPERATIONS[type(op)](self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in self.calls:
                return self.calls[name](*[self.read(argument) for argument in arguments])
        raise self.refusal(node)


OPERATIONS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {  # type: ignore[explicit-any]
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

__all__ = ["OPERATIONS", "Walk"]
