"""The operations that sympy does not have, or has with another meaning: functions that evaluate on integers only.

    >>> import sympy
    >>> from solver.interop.sympy_functions import FloorDiv
    >>> s = sympy.Symbol("s", integer=True)
    >>> FloorDiv(s, 4), FloorDiv(s, 4).subs(s, -7)
    (s//4, -2)

sympy's `floor(s/4)` turns into `floor(s)/4` and worse under some of its simplifications, `Mod` and `Max` rewrite
themselves, and a power with a symbolic exponent may be a fraction there. These stay as they are written. Importing this
module imports sympy; only `solver.interop.sympy` does.
"""

from __future__ import annotations

from typing import ClassVar

import sympy
from sympy.logic.boolalg import BooleanFalse, BooleanTrue
from sympy.printing.precedence import PRECEDENCE

from solver.terms.operations import OPERATIONS, Operation


class IntegerFunction(sympy.Function):  # type: ignore[misc]
    """A function of integers with an integer value."""

    is_integer = True
    is_commutative = True
    operation: ClassVar[Operation]

    @classmethod
    def eval(cls, *args: sympy.Expr) -> sympy.Expr | None:
        if all(arg.is_Integer for arg in args):
            if any(args[i] == 0 for i in cls.operation.nonzero) or any(args[i] < 0 for i in cls.operation.nonnegative):
                return None
            return sympy.Integer(cls.operation.evaluate(*[int(arg) for arg in args]))
        return None


class FloorDiv(IntegerFunction):
    """`n // d`, rounding down, as Python does; it stays as it is for d = 0."""

    nargs = (2,)
    operation = OPERATIONS["floordiv"]
    precedence = PRECEDENCE["Mul"]

    def _sympystr(self, printer: sympy.printing.str.StrPrinter) -> str:
        n, d = self.args
        tight = PRECEDENCE["Atom"] - 0.5
        return f"{printer.parenthesize(n, tight)}//{printer.parenthesize(d, tight)}"


class Relu(IntegerFunction):
    """`max(e, 0)`."""

    nargs = (1,)
    operation = OPERATIONS["relu"]
    is_nonnegative = True

    def _sympystr(self, printer: sympy.printing.str.StrPrinter) -> str:
        return f"max({printer._print(self.args[0])}, 0)"


class Choice(IntegerFunction):
    """`a if p else b`."""

    nargs = (3,)

    @classmethod
    def eval(cls, p: sympy.Basic, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr | None:
        match p:
            case BooleanTrue():
                return a
            case BooleanFalse():
                return b
        return None

    def _sympystr(self, printer: sympy.printing.str.StrPrinter) -> str:
        p, a, b = (printer._print(arg) for arg in self.args)
        return f"({a} if {p} else {b})"


class BitAnd(IntegerFunction):
    """`a & b` in two's complement."""

    nargs = (2,)
    operation = OPERATIONS["bitand"]
    precedence = PRECEDENCE["And"]

    def _sympystr(self, printer: sympy.printing.str.StrPrinter) -> str:
        a, b = (printer.parenthesize(arg, PRECEDENCE["Atom"] - 0.5) for arg in self.args)
        return f"({a} & {b})"


class IntegerPower(IntegerFunction):
    """`base ** exponent`; it stays as it is for a negative exponent."""

    nargs = (2,)
    operation = OPERATIONS["power"]

    def _sympystr(self, printer: sympy.printing.str.StrPrinter) -> str:
        base, exponent = (printer.parenthesize(arg, PRECEDENCE["Atom"] - 0.5) for arg in self.args)
        return f"{base}**{exponent}"


class Product(IntegerFunction):
    """A product too large to expand."""

    nargs = (2,)

    @classmethod
    def eval(cls, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr | None:
        return a * b if a.is_Integer or b.is_Integer else None
