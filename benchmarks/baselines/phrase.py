"""Translate a recorded proposition for a baseline: a walk of Python's syntax tree with a table of its operations.

>>> import operator
>>> words = ARITHMETIC | {"ge": lambda a, b: f"{a} at least {b}"}
>>> phrase("2*b + 1 >= b", words, {"b": 5})
'11 at least 5'
>>> phrase("ceildiv(b, 2) >= 1", words, {"b": 5})
Traceback (most recent call last):
benchmarks.baselines.Inexpressible: floordiv
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.baselines import Inexpressible

Words = Mapping[str, Callable[..., Any]]

OPERATIONS: dict[type[ast.AST], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "neg",
}
ARITHMETIC: Words = {
    "const": lambda value: value,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
}


def phrase(text: str, words: Words, names: Mapping[str, Any]) -> Any:
    """Evaluate `text` with the baseline's operations; Inexpressible names an operation that it lacks."""

    def say(word: str, *operands: ast.expr) -> Any:
        if word not in words:
            raise Inexpressible(word)
        return words[word](*map(walk, operands))

    def fold(word: str, operands: list[ast.expr]) -> Any:
        if word not in words:
            raise Inexpressible(word)
        result = walk(operands[0])
        for operand in operands[1:]:
            result = words[word](result, walk(operand))
        return result

    def walk(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=float(value)) if "decimal" in words:
                return words["decimal"](value)
            case ast.Constant(value=int(value)):
                return words["const"](value)
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return words["const"](-value)
            case ast.UnaryOp(op=op, operand=operand):
                return say(OPERATIONS[type(op)], operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
                return fold("mul", [left] * exponent) if exponent else words["const"](1)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
                return say(OPERATIONS[type(op)], left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return say(OPERATIONS[type(op)], left, right)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                pairs = zip([left, *rights], ops, rights)
                return fold("and", [ast.Compare(a, [op], [b]) for a, op, b in pairs])
            case ast.BoolOp(op=op, values=values):
                return fold(OPERATIONS[type(op)], values)
            case ast.Call(func=ast.Name(id="ceildiv"), args=[n, d]) if "ceildiv" not in words:
                return words["neg"](say("floordiv", ast.UnaryOp(ast.USub(), n), d))
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
                return fold(name, args)
            case ast.Call(func=ast.Name(id=name), args=args):
                return say(name, *args)
        raise Inexpressible(ast.unparse(node))

    return walk(ast.parse(text, mode="eval").body)
