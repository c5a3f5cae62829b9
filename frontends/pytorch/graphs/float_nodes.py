"""Float expressions over sizes as nodes: parse the text of a double program (`solver.floats.programs`) as Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import torch
from torch import fx

from frontends.pytorch.errors import Unsupported
from frontends.pytorch.symbolic.math_functions import PROGRAMS
from solver.floats.ordinals import from_ordinal, ordinal

Operand: TypeAlias = fx.Node | float

CALLS: Final[Mapping[str, Callable[..., object]]] = {
    **{name: getattr(math, name) for name in ("isqrt", "gcd", "trunc", "floor", "ceil")},
    "float": torch.sym_float,
    "truediv": operator.truediv,
    "sqrt": torch.sym_sqrt,
    "abs": operator.abs,
    "round": round,
    "ordinal": ordinal,
}
OPERATORS: Final[Mapping[type, Callable[..., object]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def program_nodes(graph: fx.Graph, text: str, operands: Sequence[Operand]) -> Operand:
    """The nodes that compute a program; `{0}` etc. in its text are the operands.

    The bits of a runtime float are represented by the float itself.
    """
    names = {f"operand_{place}": operand for place, operand in enumerate(operands)}
    tree = ast.parse(text.format(*names), mode="eval").body
    return _made(graph, tree, names)


def _made(graph: fx.Graph, tree: ast.expr, names: Mapping[str, Operand]) -> Operand:
    def call(function: Callable[..., object], *parts: ast.expr) -> Operand:
        operands = tuple([_made(graph, part, names) for part in parts])
        if not any(isinstance(operand, fx.Node) for operand in operands):
            return function(*operands)
        return graph.call_function(function, operands)

    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return {"inf": math.inf, "nan": math.nan}[name] if name in ("inf", "nan") else names[name]
        case ast.Call(func=ast.Name(id="double"), args=[pattern]):
            return _made(graph, pattern, names)
        case ast.Call(func=ast.Name(id="from_ordinal"), args=[place]):
            made = _made(graph, place, names)
            if isinstance(made, fx.Node) and made.target is ordinal:
                (value,) = made.args
                assert isinstance(value, fx.Node)
                return value
            return graph.call_function(from_ordinal, (made,)) if isinstance(made, fx.Node) else from_ordinal(int(made))
        case ast.Call(func=ast.Name(id="int"), args=[truth]):
            return call(torch.sym_ite, truth, ast.Constant(1), ast.Constant(0))
        case ast.Call(func=ast.Name(id=name), args=parts) if name in PROGRAMS:
            function, text = PROGRAMS[name]
            inner = program_nodes(graph, text, [_made(graph, part, names) for part in parts])
            return graph.call_function(getattr(torch, f"_sym_{function}", getattr(math, function)), (inner,))
        case ast.Call(func=ast.Name(id=name), args=parts) if name in CALLS:
            return call(CALLS[name], *parts)
        case ast.BinOp(left=left, op=sign, right=right):
            return call(OPERATORS[type(sign)], left, right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return call(operator.neg, operand)
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return call(OPERATORS[type(sign)], left, right)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return call(torch.sym_ite, test, body, otherwise)
    raise Unsupported(f"`{ast.unparse(tree)}`: a number that no node of a graph computes; keep it outside")
