"""The semantics of decimals, quotients and roots in a text: IEEE doubles, or exact rationals in a recorded session.

    >>> from solver.terms.interner import Interner
    >>> from solver.syntax.parser import parse_expr
    >>> terms = Interner()
    >>> names = {"s": terms.symbol("s")}
    >>> doubles = parse_expr("trunc(0.29*float(s))", names, terms).expr
    >>> quotients = parse_expr("trunc(0.29*float(s))", names, terms, decimals="real").expr
    >>> [e.evaluate({names["s"].atom: 100}) for e in (doubles, quotients)]
    [28, 29]

Each operation adds its domain to the reader's obligations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, ParamSpec

from solver.errors import NotExpressible
from solver.floats import quotients as reals
from solver.floats import values as floats
from solver.floats.quotients import Ratio
from solver.floats.values import Float
from solver.terms.expr import Expr, TermTable
from solver.terms.prop import Prop

Operand = Expr | Ratio | Float
P = ParamSpec("P")
EXACT: Final = 2**53
"""The largest integer up to which all are doubles."""


class Rationals:
    """Exact quotients of integer expressions, and roots of them."""

    def __init__(self, interner: TermTable, obligations: list[Prop]) -> None:
        self.interner = interner
        self.obligations = obligations

    def decimal(self, text: str) -> Ratio:
        return reals.decimal(self.interner, text)

    def convert(self, a: Operand) -> Ratio:
        assert not isinstance(a, Float)
        return reals.ratio(a)

    def add(self, a: Operand, b: Operand) -> Ratio:
        return reals.add(self.convert(a), self.convert(b))

    def multiply(self, a: Operand, b: Operand) -> Ratio:
        return reals.multiply(self.convert(a), self.convert(b))

    def divide(self, a: Operand, b: Operand) -> Ratio:
        divisor = self.convert(b)
        zero = reals.zero_of(divisor)
        if zero.terms or not zero.constant:
            self.obligations.append(Prop.ne(zero, 0))
        return reals.divide(self.convert(a), divisor)

    def combine(self, operation: str, a: Operand, b: Operand) -> Ratio:
        raise NotExpressible(f"`{operation}` takes integers")

    def negate(self, a: Ratio | Float) -> Ratio:
        return -self.convert(a)

    def apply(self, name: str, a: Operand) -> Expr | Ratio:
        x = self.convert(a)
        if name == "sqrt":
            self.obligations.append(reals.at_least_zero(x))
            return reals.square_root(x)
        rounding = reals.ROUNDINGS.get("trunc" if name == "int" else name)
        if rounding is None:
            raise NotExpressible(f"`{name}` takes integers")
        return rounding(x)

    def round_to(self, a: Operand, digits: int) -> Float:
        raise NotExpressible("`round` to a number of digits has no exact integer form")

    def double(self, bits: Expr) -> Float:
        raise NotExpressible("`double` is about IEEE doubles, and this text about exact quotients")

    def from_ordinal(self, e: Expr) -> Float:
        raise NotExpressible("`from_ordinal` is about IEEE doubles, and this text about exact quotients")

    def choose(self, p: Prop, a: Operand, b: Operand) -> Ratio:
        return reals.choose(p, self.convert(a), self.convert(b))

    def extreme(self, name: str, a: Operand, b: Operand) -> Ratio:
        return reals.extreme(name, self.convert(a), self.convert(b))

    def compare(self, operation: str, a: Operand, b: Operand) -> Prop:
        return reals.compare(operation, self.convert(a), self.convert(b))


class Doubles:
    """IEEE doubles, operation by operation as Python computes them."""

    def __init__(self, interner: TermTable, obligations: list[Prop], refuse: Callable[[str], None]) -> None:
        self.interner = interner
        self.obligations = obligations
        self.refuse = refuse

    def decimal(self, text: str) -> Float:
        return floats.constant(self.interner, float(text))

    def convert(self, a: Operand) -> Float:
        assert not isinstance(a, Ratio)
        return a if isinstance(a, Float) else self.computed(floats.convert, a)

    def computed(self, operation: Callable[P, Float], *operands: P.args, **options: P.kwargs) -> Float:
        """The result; constants for which Python raises an error are defined nowhere, as `1//0`."""
        try:
            return operation(*operands, **options)
        except (ArithmeticError, ValueError) as error:
            self.refuse(str(error))
            return floats.constant(self.interner, math.nan)

    def taken(self, a: Operand) -> Float:
        """An operand of which Python may take the value as it is: an integer among doubles stays an integer there.

        Up to 2**53 it equals its double; the domain asks that it is no larger.
        """
        if isinstance(a, Expr):
            low, high = Prop.ge(a, -EXACT), Prop.le(a, EXACT)
            self.obligations += [side for side in (low, high) if side.kind != "true"]
        return self.convert(a)

    def add(self, a: Operand, b: Operand) -> Operand:
        if a is self.interner.zero or b is self.interner.zero:  # where a sum begins
            return b if a is self.interner.zero else a
        return floats.add(self.convert(a), self.convert(b))

    def multiply(self, a: Operand, b: Operand) -> Operand:
        if a is self.interner.one or b is self.interner.one:
            return b if a is self.interner.one else a
        return floats.multiply(self.convert(a), self.convert(b))

    def divide(self, a: Operand, b: Operand) -> Float:
        if isinstance(a, Expr) and isinstance(b, Expr):
            return self.computed(floats.quotient, a, b)
        return self.computed(floats.divide, self.convert(a), self.convert(b))

    def combine(self, operation: str, a: Operand, b: Operand) -> Float:
        combination = {"//": floats.floordiv, "%": floats.remainder, "**": floats.power}[operation]
        return self.computed(combination, self.convert(a), self.convert(b))

    def negate(self, a: Ratio | Float) -> Float:
        return floats.negate(self.convert(a))

    def apply(self, name: str, a: Operand) -> Expr | Float:
        x = self.convert(a)
        match name:
            case "sqrt":
                return self.computed(floats.square_root, x)
            case "abs":
                return floats.absolute(x)
            case "ordinal":
                self.obligations.append(x.domain)
                return floats.ordinal(x)
            case "computes":
                return floats.computes(x)
            case "floor" | "ceil" | "trunc" | "int" | "round":
                rounding = {"floor": floats.floor, "ceil": floats.ceil, "round": floats.round_half_even}
                if x.value is not None and not math.isfinite(x.value):
                    self.refuse(f"cannot convert float {'NaN' if math.isnan(x.value) else 'infinity'} to integer")
                    return self.interner.zero
                self.obligations.append(floats.finite(x))
                return rounding.get(name, floats.trunc)(x)
            case _:
                raise NotExpressible(f"`{name}` takes integers")

    def round_to(self, a: Operand, digits: int) -> Float:
        return floats.round_to(self.convert(a), digits)

    def double(self, bits: Expr) -> Float:
        return floats.from_pattern(bits)

    def from_ordinal(self, e: Expr) -> Float:
        return floats.from_ordinal(e)

    def choose(self, p: Prop, a: Operand, b: Operand) -> Float:
        before = len(self.obligations)
        first = self.taken(a)
        where = [Prop.join(self.interner, "or", [p.negation, needed]) for needed in self.obligations[before:]]
        between = len(self.obligations)
        last = self.taken(b)
        where += [Prop.join(self.interner, "or", [p, needed]) for needed in self.obligations[between:]]
        self.obligations[before:] = where
        return floats.choose(p, first, last)

    def extreme(self, name: str, a: Operand, b: Operand) -> Float:
        x, y = self.taken(a), self.taken(b)
        self.obligations += [x.domain, y.domain]
        return floats.choose(floats.compare(">" if name == "max" else "<", y, x), y, x)

    def compare(self, operation: str, a: Operand, b: Operand) -> Prop:
        for side in (a, b):
            if isinstance(side, Float):
                self.obligations.append(side.domain)
        assert not isinstance(a, Ratio) and not isinstance(b, Ratio)
        return floats.compare(operation, a, b)


Numerals = Rationals | Doubles
"""A reader's treatment of non-integer values. Operands are such values or integer expressions."""
