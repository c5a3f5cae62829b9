"""From sympy to floats: IEEE doubles, one operation of Python's for each node.

    >>> import sympy
    >>> from solver.interop.sympy_floats import FloatReading
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> reading = FloatReading(terms, {"s": s})
    >>> value, domain = reading.read(sympy.floor(0.29 * sympy.Symbol("s")))
    >>> value.evaluate({s.atom: 100})     # 29 in real arithmetic
    28
    >>> prop, domain = reading.read(0.29 * sympy.Symbol("s") >= 28.5)
    >>> prop is terms.ge(s, 99)
    True

An integer beside a float is converted to a double first, but compared exactly, as Python does. A sum or product of more
than two floats has no order in sympy, and so no value here; nor has a choice among floats. A rounding is defined where
its argument is finite, a maximum or minimum, which has no order either, where no argument is a NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, NoReturn

from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.quotients import Ratio
from solver.floats.value import Float
from solver.interop.sympy_reading import RELATIONS, Reading, Value, is_half, refused
from solver.syntax.numerals import Doubles
from solver.terms.expr import Expr
from solver.terms.prop import Prop

if TYPE_CHECKING:
    import sympy

ROUNDINGS: Final = {
    "FloorToInt": "floor",
    "floor": "floor",
    "CeilToInt": "ceil",
    "ceiling": "ceil",
    "TruncToInt": "trunc",
    "RoundToInt": "round",
}
INFINITIES: Final = {"Infinity": math.inf, "NegativeInfinity": -math.inf}
TO_FLOATS: Final = ("ToFloat", "IntTrueDiv", "TruncToFloat")
"""Functions of integers, or of anything, that give floats."""


class FloatReading(Reading):
    """The values of the nodes read so far, floats among them; names may be floats, too."""

    def leaf(self, node: sympy.Basic) -> Value:
        kind = type(node).__name__
        if kind in INFINITIES:
            return floats.constant(self.interner, INFINITIES[kind])
        if getattr(node, "is_Float", False):
            from mpmath.libmp import from_float

            value = float(node)
            if from_float(value) != node._mpf_:
                raise refused(node)
            return floats.constant(self.interner, value)
        return super().leaf(node)

    def inner(self, node: sympy.Basic, read: Sequence[tuple[Value, Prop]]) -> tuple[Value, Prop]:
        kind, values = node.func.__name__, [value for value, _ in read]
        if kind not in TO_FLOATS and not any(isinstance(value, Float) for value in values):
            return super().inner(node, read)
        needed: list[Prop] = []
        try:
            value = self.float_operation(kind, node, values, needed)
        except NotExpressible:
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise refused(node) from error
        return value, self.interner.conjunction([*[domain for _, domain in read], *needed])

    def float_operation(
        self, kind: str, node: sympy.Basic, values: list[Value], needed: list[Prop]
    ) -> Expr | Float | Prop:
        """The value of an operation with a float among its operands, or a float as its result."""

        def refuse(why: str) -> NoReturn:
            raise NotExpressible(f"`{node}`: {why}")

        doubles = Doubles(self.interner, needed, refuse)
        x, *others = [operand(value) for value in values]
        match kind, others:
            case _, [y] if kind in RELATIONS:
                return doubles.compare(RELATIONS[kind], x, y)
            case "ToFloat", []:
                return doubles.convert(x)
            case "IntTrueDiv", [y]:
                return doubles.divide(x, y)
            case "FloatTrueDiv", [y]:
                return doubles.divide(doubles.convert(x), y)
            case "Add", [y]:
                return floats.add(doubles.convert(x), doubles.convert(y))
            case "Mul", [y]:
                return floats.multiply(doubles.convert(x), doubles.convert(y))
            case "Pow", [_] if is_half(values[1]):
                return doubles.computed(floats.square_root, doubles.convert(x))
            case (("FloatPow" | "Pow"), [y]):
                return doubles.combine("**", x, y)
            case "OpaqueUnaryFn_sqrt", []:
                return doubles.computed(floats.square_root, doubles.convert(x))
            case "Abs", []:
                return floats.absolute(doubles.convert(x))
            case (("Max" | "Min"), [_, *_]):
                needed += [floats.not_a_number(each).negation for each in (x, *others) if isinstance(each, Float)]
                return reduce(lambda a, b: doubles.extreme(kind.lower(), a, b), others, doubles.convert(x))
            case "TruncToFloat", []:
                return doubles.convert(doubles.apply("trunc", x))
            case "RoundDecimal", [Expr() as digits] if digits.is_constant:
                return doubles.round_to(x, digits.constant)
            case _, [] if kind in ROUNDINGS:
                return doubles.apply(ROUNDINGS[kind], x)
        raise NotExpressible(f"`{node}` is not one operation on floats")


def operand(value: Value) -> Expr | Float:
    """An integer or a float; a constant quotient is a float, as Python divides.

    Raises:
        TypeError: it is another quotient, or a proposition.
    """
    if isinstance(value, Ratio) and value.root is None:
        above, below = value.numerator, value.denominator
        if above.is_constant and below.is_constant:
            return floats.constant(above.interner, above.constant / below.constant)
    if isinstance(value, Expr | Float):
        return value
    raise TypeError(f"{value} is no float")
