"""Torch's expressions in our terms: integers, floats and propositions.

    >>> import sympy
    >>> from frontends.pytorch.shape_env.translation import Reading
    >>> from solver.terms.interner import Interner
    >>> from torch.utils._sympy.functions import FloorDiv
    >>> terms = Interner()
    >>> s = sympy.Symbol("s0", integer=True)
    >>> reading = Reading(terms, lambda symbol: terms.symbol("x_size0"), lambda node: None)
    >>> prop, domain = reading.read(sympy.Ge(FloorDiv(s, 4) * 8, 16))
    >>> str(prop)
    'x_size0//4 >= 2'

Floats are IEEE doubles, with one operation for each binary node. A sum or product of more than two floats has no
order in sympy, so it is opaque, like any other function without an exact form here: a number of its own, the same one
wherever the expression occurs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import sympy
from torch.fx.experimental.symbolic_shapes import SymT, symbol_is_type

from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.quotients import Ratio
from solver.floats.value import Float
from solver.interop import sympy_reading
from solver.interop.sympy_reading import RELATIONS
from solver.syntax.connectives import same
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

Value = Any
"""An `Expr`, a `Ratio`, a `Float` or a `Prop`."""

ROUNDINGS: Final = {
    "FloorToInt": floats.floor,
    "floor": floats.floor,
    "CeilToInt": floats.ceil,
    "ceiling": floats.ceil,
    "TruncToInt": floats.trunc,
    "RoundToInt": floats.round_half_even,
}
FAILURES: Final = (NotExpressible, TypeError, ValueError, LookupError, ArithmeticError)


class Reading(sympy_reading.Reading):
    """One environment's translation.

    Args:
        symbol: our expression for a symbol of torch's; None for one that is no number, such as a nested size.
        opaque: our symbol for an expression that is not expressible; None for none.
    """

    def __init__(
        self,
        interner: Interner,
        symbol: Callable[[sympy.Symbol], Expr | None],
        opaque: Callable[[sympy.Basic], Expr | None],
    ) -> None:
        super().__init__(interner, {})
        self.symbol = symbol
        self.opaque = opaque

    def leaf(self, node: sympy.Basic) -> Value:
        if isinstance(node, sympy.Symbol):
            found = self.symbol(node)
            if found is None:
                raise NotExpressible(f"the symbol `{node}` is not a number")
            return floats.from_pattern(found) if is_float(node) else found
        if isinstance(node, sympy.Float):
            return floats.constant(self.interner, float(node))
        if node in (sympy.oo, -sympy.oo):
            return floats.constant(self.interner, math.inf if node is sympy.oo else -math.inf)
        return super().leaf(node)

    def inner(self, node: sympy.Basic, read: Sequence[tuple[Any, Prop]]) -> tuple[Any, Prop]:
        values = [value for value, _ in read]
        kind = node.func.__name__
        try:
            if kind in ("Where", "ITE") and any(isinstance(value, Float) for value in values):
                raise NotExpressible("a choice of floats")
            if any(isinstance(value, Float) for value in values) or kind in ("ToFloat", "IntTrueDiv", "TruncToFloat"):
                value = self.float_operation(kind, node, values)
                domains = [value.domain] if isinstance(value, Float) else []
                domains += [each.domain for each in values if isinstance(each, Float)]
                return value, self.interner.conjunction([*[domain for _, domain in read], *domains])
            return super().inner(node, read)
        except FAILURES:
            return self.unknown(node), self.interner.true

    def unknown(self, node: sympy.Basic) -> Value:
        """A fresh symbol for a node without an exact form."""
        found = self.opaque(node)
        if found is None:
            raise NotExpressible(f"`{node}` has no value")
        if isinstance(node, sympy.logic.boolalg.Boolean):
            return self.interner.eq(found, 1)
        return found if node.is_integer else floats.from_pattern(found)

    def float_operation(self, kind: str, node: sympy.Basic, values: list[Value]) -> Value:
        """The value of an operation with a float among its operands, or a float as its result."""
        match kind, values:
            case _, [a, b] if kind in RELATIONS:
                return floats.compare(RELATIONS[kind], number(a), number(b))
            case "Not", [Prop() as p]:
                return p.negation
            case ("Equality" | "Unequality"), [Prop() as p, Prop() as q]:
                return same(p, q) if kind == "Equality" else same(p, q).negation
            case "ToFloat", [x]:
                return real(x)
            case "IntTrueDiv", [Expr() as n, Expr() as d]:
                return floats.quotient(n, d)
            case ("IntTrueDiv" | "FloatTrueDiv"), [a, b]:
                return floats.divide(real(a), real(b))
            case "Add", [a, b]:
                return floats.add(real(a), real(b))
            case "Mul", [a, b]:
                return floats.negate(real(b)) if is_minus_one(a) else floats.multiply(real(a), real(b))
            case ("FloatPow" | "Pow"), [a, b]:
                return floats.power(real(a), real(b))
            case "OpaqueUnaryFn_sqrt", [a]:
                return floats.square_root(real(a))
            case "Abs", [a]:
                return floats.absolute(real(a))
            case ("Max" | "Min"), [_, *_]:
                sign = ">=" if kind == "Max" else "<="
                return reduce(lambda a, b: floats.choose(floats.compare(sign, a, b), a, b), map(real, values))
            case "TruncToFloat", [a]:
                return floats.convert(floats.trunc(real(a)))
            case "RoundDecimal", [a, Expr() as digits] if digits.is_constant:
                return floats.round_to(real(a), digits.constant)
            case _, [a] if kind in ROUNDINGS:
                return ROUNDINGS[kind](real(a))
        raise NotExpressible(f"`{node}` is not a float operation")


def real(value: Value) -> Float:
    """A number as a float."""
    if isinstance(value, Float):
        return value
    if isinstance(value, Ratio) and value.root is None:
        above, below = value.numerator, value.denominator
        if above.is_constant and below.is_constant:
            return floats.constant(above.interner, above.constant / below.constant)
    if isinstance(value, Expr):
        return floats.convert(value)
    raise TypeError(f"{value} is no float")


def number(value: Value) -> Float | Expr:
    return value if isinstance(value, Expr) else real(value)


def is_minus_one(value: Value) -> bool:
    return isinstance(value, Expr) and value.is_constant and value.constant == -1


def is_float(symbol: sympy.Symbol) -> bool:
    """Return True if a symbol of torch's is a float."""
    return bool(symbol_is_type(symbol, (SymT.FLOAT, SymT.UNBACKED_FLOAT)))


def is_unbacked(symbol: sympy.Symbol) -> bool:
    """Return True if a symbol of torch's is known only when the program runs."""
    return bool(symbol_is_type(symbol, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)))
