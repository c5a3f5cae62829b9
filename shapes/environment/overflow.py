"""Overflow of machine integers: does an expression fit, with all of its intermediate results?

    >>> from shapes import Always, Depends, ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = (env.symbol(name, lo=1, hi=2**20) for name in ("b", "s"))
    >>> isinstance(env.fits((b * s) // s, 32), Always)          # the normal form is b: nothing large is computed
    True
    >>> env.fits("(b * s + 7) // 8", 32).false_at["b"] > 1          # as written: the product comes first
    True

An expression of the engine is computed as it prints, text as it is written: every operation from left to right, of a
conditional only the side that is taken. Constants are folded beforehand and count by their value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from shapes.accepted import shown
from shapes.environment.reader import Reader, Size
from shapes.errors import ShapeError
from solver.syntax.printer import written_out
from solver.terms.expr import Expr
from solver.terms.functions import called
from solver.terms.interner import Interner
from solver.terms.prop import Prop

WIDEST: Final = 1 << 20
"""Bits of an integer."""
_OPERATIONS: Final[dict[type[ast.operator], Callable[[Interner, Expr, Expr], Expr]]] = {
    ast.Add: Interner.add,
    ast.Sub: Interner.subtract,
    ast.Mult: Interner.multiply,
    ast.FloorDiv: Interner.floordiv,
    ast.Mod: Interner.mod,
    ast.Pow: Interner.power,
    ast.LShift: Interner.shift_left,
    ast.RShift: Interner.shift_right,
    ast.BitAnd: Interner.bit_and,
    ast.BitOr: Interner.bit_or,
    ast.BitXor: Interner.bit_xor,
}


def fitting(reader: Reader, size: Size, bits: int) -> tuple[Prop, Prop]:
    """The proposition that value and intermediates fit signed integers of `bits` bits, and its domain."""
    if type(bits) is not int or not 1 <= bits <= WIDEST:
        raise ShapeError(f"bits={shown(bits)}: expected an integer from 1 to {WIDEST:,}")
    if isinstance(size, str):
        text, domain = size, reader.parse_expr(size)[1]
    else:
        expr, domain = reader.read_expr(size)
        text = written_out(expr)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ShapeError(f"size: {len(text)} characters are nested too deeply to parse") from None
    walk = _Walk(reader, 1 << (bits - 1))
    walk.value(tree)
    return reader.interner.conjunction(walk.obligations), domain


class _Walk:
    """One expression during its traversal; `obligations` is what has to hold for each operation."""

    def __init__(self, reader: Reader, limit: int) -> None:
        self.reader = reader
        self.interner = reader.interner
        self.limit = limit
        self.obligations: list[Prop] = []

    def value(self, node: ast.expr) -> Expr:
        """The value of a part, after noting that it fits."""
        result = self._operation(node)
        terms = self.interner
        self.obligations += [terms.ge(result, -self.limit), terms.le(result, self.limit - 1)]
        return result

    def _operation(self, node: ast.expr) -> Expr:
        terms = self.interner
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS and not _is_constant(node):
                return _OPERATIONS[type(op)](terms, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand) if not _is_constant(node):
                return -self.value(operand)
            case ast.Call(func=ast.Name(id=name), args=[first, *rest]) if (operation := called(name)) is not None:
                if not operation.folds:
                    return terms.apply(operation, self.value(first), *[self.value(arg) for arg in rest])
                result = self.value(first)
                for arg in rest:
                    result = terms.apply(operation, result, self.value(arg))
                return result
            case ast.IfExp(test=test, body=body, orelse=other):
                p, _ = self.reader.parse(ast.unparse(test))
                return terms.ite(p, self._under(p, body), self._under(p.negation, other))
            case _:
                return self.reader.parse_expr(ast.unparse(node))[0]

    def _under(self, p: Prop, node: ast.expr) -> Expr:
        """A part that is computed only where `p` holds."""
        before = self.obligations
        self.obligations = []
        result = self.value(node)
        inside = self.interner.conjunction(self.obligations)
        self.obligations = [*before, self.interner.disjunction([p.negation, inside])]
        return result


def _is_constant(node: ast.expr) -> bool:
    return not any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node))
