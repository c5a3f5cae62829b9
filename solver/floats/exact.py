"""Exact double arithmetic: where no step rounds, a rounding is integer arithmetic.

    >>> from solver.floats import values as floats
    >>> from solver.terms.interner import Interner
    >>> from solver.floats.exact import exact_form
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> half = floats.ceil(floats.quotient(s, terms.constant(2))).atom
    >>> form, limits = exact_form(half)
    >>> form is terms.ceildiv(s, 2), limits == (terms.le(s, 2**53 - 1), terms.ge(s, 1 - 2**53))
    (True, True)

Two cases. (1) Every step is exact: a conversion of a size below 2**53, sums and products with dyadic constants whose
results n / 2**k have n below 2**53. (2) One quotient n / d of integers, rounded once: its distance to the next integer
above or below is at least 1/d, unless it is one, and the error of rounding is at most (n/d) / 2**53, less than 1/d for
n below 2**53. So its floor and ceiling are those of the exact quotient; and so is its nearest integer, if n is below
2**52 (the distance to a half is at least 1/(2*d)).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from solver.floats import quotients
from solver.floats.programs import ROUNDINGS, Node, read_function
from solver.floats.quotients import Ratio
from solver.terms.choice import ite
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.prop import Prop

PRECISION: Final = 53


class _Rounds(Exception):
    """A step that rounds."""


@dataclass(frozen=True, slots=True)
class _Dyadic:
    """`numerator / 2**places`, exactly."""

    numerator: Expr
    places: int


class _Reader:
    """A program read as exact arithmetic; `limits` are the conditions."""

    def __init__(self, arguments: Sequence[Expr]) -> None:
        self.arguments = arguments
        self.interner: TermTable = arguments[0].interner
        self.limits: dict[Prop, None] = {}

    def below(self, e: Expr, bits: int) -> None:
        """Require |e| < 2**bits."""
        for limit in (Prop.lt(e, 2**bits), Prop.gt(e, -(2**bits))):
            if limit.kind == "false":
                raise _Rounds
            if limit.kind != "true":
                self.limits[limit] = None

    def integer(self, node: Node) -> Expr:
        return self.interner.constant(int(node.value)) if node.operation == "constant" else self.arguments[node.place]

    def exact(self, node: Node) -> _Dyadic:
        match node.operation, node.operands:
            case "constant", _:
                numerator, denominator = _ratio(node.value)
                return self.kept(self.interner.constant(numerator), denominator.bit_length() - 1)
            case "float", (a,):
                return self.kept(self.integer(a), 0)
            case "negate", (a,):
                x = self.exact(a)
                return _Dyadic(-x.numerator, x.places)
            case ("+" | "-") as sign, (a, b):
                x, y = self.exact(a), self.exact(b)
                places = max(x.places, y.places)
                p, q = x.numerator * 2 ** (places - x.places), y.numerator * 2 ** (places - y.places)
                return self.kept(p + q if sign == "+" else p - q, places)
            case "*", (a, b):
                x, y = self.exact(a), self.exact(b)
                return self.kept(x.numerator * y.numerator, x.places + y.places)
            case "/", (a, b) if b.operation == "constant":
                numerator, denominator = _ratio(b.value)
                if abs(numerator) == 1:  # a power of two below one
                    x = self.exact(a)
                    return self.kept(x.numerator * (numerator * denominator), x.places)
                if denominator == 1 and numerator > 0 and numerator & (numerator - 1) == 0:
                    x = self.exact(a)
                    return self.kept(x.numerator, x.places + numerator.bit_length() - 1)
        raise _Rounds

    def kept(self, numerator: Expr, places: int) -> _Dyadic:
        if places > 1000:  # near to the subnormal numbers
            raise _Rounds
        self.below(numerator, PRECISION)
        return _Dyadic(numerator, places)

    def rounded(self, name: str, node: Node) -> Expr:
        if node.operation == "truediv":
            n, d = (self.integer(operand) for operand in node.operands)
            self.below(n, PRECISION - 1 if name == "round" else PRECISION)
            if not d.is_constant:
                self.limits[Prop.ne(d, 0)] = None
            return self.quotient(name, n, d)
        x = self.exact(node)
        return self.quotient(name, x.numerator, self.interner.constant(2**x.places))

    def quotient(self, name: str, n: Expr, d: Expr) -> Expr:
        """The rounding of n / d."""
        if name in ("trunc", "round") and not d.is_constant:
            raise _Rounds
        return quotients.ROUNDINGS[name](Ratio(n, d))

    def compared(self, sign: ast.cmpop, a: Node, b: Node) -> Expr:
        x, y = (_Dyadic(self.integer(side), 0) if side.operation == "integer" else self.exact(side) for side in (a, b))
        left, right = x.numerator * 2**y.places, y.numerator * 2**x.places
        compare = {ast.GtE: Prop.ge, ast.Gt: Prop.gt, ast.Eq: Prop.eq}.get(type(sign))
        if compare is None:
            raise _Rounds
        return ite(self.interner, compare(left, right), self.interner.one, self.interner.zero)


def _ratio(value: float) -> tuple[int, int]:
    try:
        return value.as_integer_ratio()
    except (OverflowError, ValueError):  # infinite, or no number
        raise _Rounds from None


def has_exact_form(node: Node) -> bool:
    """Return True if comparisons of such a program are integer arithmetic for small integers."""
    match node.operation, node.operands:
        case "constant", _:
            return math.isfinite(node.value)
        case "float", _:
            return True
        case "negate" | "+" | "-" | "*", operands:
            return all(has_exact_form(operand) for operand in operands)
        case "/", (a, Node(operation="constant", value=value)):
            return math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5 and has_exact_form(a)
    return False


def exact_form(atom: Atom) -> tuple[Expr, tuple[Prop, ...]] | None:
    """The integer arithmetic that equals a function over floats within limits; None where there is none."""
    if "{" not in atom.name:
        return None
    name, operands, signs = read_function(atom.name)
    reader = _Reader([argument for argument in atom.args if isinstance(argument, Expr)])
    try:
        if name in ROUNDINGS:
            form = reader.rounded(name, operands[0])
        elif len(signs) == 1:
            form = reader.compared(signs[0], *operands)
        else:
            return None
    except _Rounds:
        return None
    return form, tuple(reader.limits)
