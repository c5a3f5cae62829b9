"""Mechanical mutations of any function: one place in a syntax tree changed, as in mutmut and Cosmic Ray.

    >>> from pathlib import Path
    >>> import solver.terms.depth
    >>> [mutant.kind for mutant in mutants(Path(solver.terms.depth.__file__))][:1]
    ['call forgotten']
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.rule_mutations import Mutant, text_of

OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}  # fmt: skip
NOT_CHANGED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.arguments, ast.AnnAssign)
"""Messages, annotations, defaults, and what only ends a program."""


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The nodes that may replace a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in OPPOSITE:
            yield "comparison", ast.Compare(node.left, [OPPOSITE[type(op)]()], node.comparators)
        case ast.BoolOp(op=op, values=values) if type(op) in OPPOSITE:
            yield "operator", ast.BoolOp(OPPOSITE[type(op)](), values)
        case ast.BinOp(left, op, right) if type(op) in OPPOSITE:
            yield "operator", ast.BinOp(left, OPPOSITE[type(op)](), right)
        case ast.If(test, body, orelse):
            yield "branches swapped", ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test, body, orelse):
            yield "branches swapped", ast.IfExp(test, orelse, body)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "negation forgotten", operand
        case ast.Constant(value=int(value)) if type(value) is int:
            yield "off by one", ast.Constant(value + 1)
        case ast.Expr(value=ast.Call()):
            yield "call forgotten", ast.Pass()
        case ast.Break() | ast.Continue():
            yield "jump", OPPOSITE[type(node)]()


def mutants(file: Path) -> Iterator[Mutant]:
    """All mutants of the functions of a file."""
    tree = ast.parse(file.read_text())

    def walk(node: ast.AST, function: ast.FunctionDef | None) -> Iterator[Mutant]:
        if isinstance(node, NOT_CHANGED):
            return
        if isinstance(node, ast.FunctionDef):
            function = function or node
        elif function is not None:
            for kind, new in changes(node):
                place = function.name, function.lineno
                line = int(getattr(node, "lineno", function.lineno))
                yield Mutant(file, line, place, kind, text_of(node), text_of(new), tree, node, new)
        for child in node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node):
            yield from walk(child, function)

    yield from walk(tree, None)
