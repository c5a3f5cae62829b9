"""Symbolic integers: `int` in Python code, an expression to the engine.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> (b * s + 7) // 8, -s % 16, divmod(s, 16), s / 2, round(s * 0.5)
    (ceildiv(b*s, 8), (-s) % 16, (s//16, s % 16), truediv(s, 2), round(0.5*float(s)))
    >>> s > 64                                  # a proposition, not yet a branch
    s >= 65
    >>> s**2, 2**s, pow(s, 2, 5), s**-1
    (s**2, 2**s, s**2 % 5, float(s)**-1.0)
    >>> [0] * b                                 # Python needs the number: a guard, and a line in the log
    [0, 0, 0, 0]
    >>> env.specializations()[0].value
    4

Operators, `divmod`, `round`, `abs`, `math.floor` and comparisons stay symbolic. `docs/concretization.md` lists every
operation in which Python concretizes a value, and what happens. An operation seen before is one look-up (see
`shapes.symbolic.operations`).
"""

from __future__ import annotations

import numbers
import operator
from typing import TYPE_CHECKING, Final, overload

from shapes.symbolic.base import Symbolic, unpicklable
from shapes.symbolic.operations import ENTRIES_KEPT, Environment, Operations, line, next_key, operations_of, refuse
from shapes.symbolic.operators import Comparison, combination, comparison
from shapes.symbolic.symbool import SymBool
from solver.floats import values as floats
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.symbolic.symfloat import SymFloat

__all__ = ["SymBool", "SymInt"]

LARGEST_EXPONENT: Final = 1 << 12
"""A constant exponent beyond this is refused: its normal form has that many factors."""


class SymInt(Symbolic):
    """An integer expression over sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ("expr", "key", "memo")

    kind = "int"

    def __init__(self, env: Environment, expr: Expr, domain: Prop, operations: Operations | None = None) -> None:
        if operations is None:
            operations = operations_of(env)
            operations.integers.setdefault(expr if domain is operations.true else (expr, domain), self)
        self.env = env
        self.expr = expr
        self.domain = domain
        self.operations = operations
        self.memo = operations.memo
        self.key = next_key()

    # ------------------------------------------------------------------ operators

    __add__ = combination("+", operator.add, operator.add)
    __radd__ = combination("+", operator.add, operator.add, reflected=True)
    __sub__ = combination("-", operator.sub, operator.sub)
    __rsub__ = combination("-", lambda a, b: b - a, operator.sub, reflected=True)
    __mul__ = combination("*", operator.mul, operator.mul)
    __rmul__ = combination("*", operator.mul, operator.mul, reflected=True)
    __floordiv__ = combination("//", operator.floordiv, operator.floordiv, obligation="nonzero")
    __rfloordiv__ = combination("//", lambda a, b: b // a, operator.floordiv, reflected=True, obligation="nonzero")
    __mod__ = combination("%", operator.mod, operator.mod, obligation="nonzero")
    __rmod__ = combination("%", lambda a, b: b % a, operator.mod, reflected=True, obligation="nonzero")
    __lshift__ = combination("<<", lambda a, b: a.interner.shift_left(a, b), None, obligation="nonnegative")
    __rlshift__ = combination(
        "<<", lambda a, b: a.interner.shift_left(b, a), None, reflected=True, obligation="nonnegative"
    )
    __rshift__ = combination(">>", lambda a, b: a.interner.shift_right(a, b), None, obligation="nonnegative")
    __rrshift__ = combination(
        ">>", lambda a, b: a.interner.shift_right(b, a), None, reflected=True, obligation="nonnegative"
    )
    __and__ = __rand__ = combination("&", lambda a, b: a.interner.bit_and(a, b), None)
    __or__ = __ror__ = combination("|", lambda a, b: a.interner.bit_or(a, b), None)
    __xor__ = __rxor__ = combination("^", lambda a, b: a.interner.bit_xor(a, b), None)

    __eq__: Comparison = comparison("==", Interner.eq)  # type: ignore[assignment]
    __ne__: Comparison = comparison("!=", Interner.ne)  # type: ignore[assignment]
    __lt__ = comparison("<", Interner.lt)
    __le__ = comparison("<=", Interner.le)
    __gt__ = comparison(">", Interner.gt)
    __ge__ = comparison(">=", Interner.ge)

    def __neg__(self) -> SymInt:
        return self * -1

    def __pos__(self) -> SymInt:
        return self

    def __invert__(self) -> SymInt:
        return self * -1 - 1

    def __abs__(self) -> SymInt:
        return self.operations.integer(self.operations.interner.absolute(self.expr), self.domain)

    def __divmod__(self, other: int | SymInt | SymBool) -> tuple[SymInt, SymInt]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[SymInt, SymInt]:
        return other // self, other % self

    @overload
    def __pow__(self, other: int | SymInt | SymBool, modulus: None = None, /) -> SymInt: ...
    @overload
    def __pow__(self, other: int | SymInt | SymBool, modulus: int | SymInt, /) -> SymInt: ...
    @overload
    def __pow__(self, other: float | SymFloat, modulus: None = None, /) -> SymFloat: ...
    def __pow__(self, other: object, modulus: int | SymInt | None = None, /) -> object:
        """An integer where the exponent is not negative, which is a branch if that is not known; else a float."""
        if isinstance(other, bool | SymBool):
            other = other.integer if isinstance(other, SymBool) else int(other)
        if not isinstance(other, int | SymInt):
            return self.as_float**other if isinstance(other, float) and modulus is None else NotImplemented
        return power(self, other) if modulus is None else modular_power(self, other, modulus)

    @overload
    def __rpow__(self, other: int, modulus: int | None = None, /) -> SymInt | SymFloat: ...
    @overload
    def __rpow__(self, other: float, modulus: None = None, /) -> SymFloat: ...
    def __rpow__(self, other: object, modulus: int | None = None, /) -> object:
        if isinstance(other, float) and modulus is None:
            return self.operations.double(other) ** self.as_float
        if not isinstance(other, int):
            return NotImplemented
        base = self.operations.whole(int(other))
        return power(base, self) if modulus is None else modular_power(base, self, modulus)

    @overload
    def __truediv__(self, other: int | SymInt | SymBool, /) -> SymFloat: ...
    @overload
    def __truediv__(self, other: float, /) -> SymFloat: ...
    def __truediv__(self, other: object, /) -> object:
        return quotient(self, other)

    @overload
    def __rtruediv__(self, other: int | SymInt | SymBool, /) -> SymFloat: ...
    @overload
    def __rtruediv__(self, other: float, /) -> SymFloat: ...
    def __rtruediv__(self, other: object, /) -> object:
        return quotient(other, self)

    # ------------------------------------------------------------------ where Python needs the value

    def _value(self, why: str) -> int:
        expr = self.expr
        if expr.is_constant and self.domain is self.operations.true:
            return expr.constant
        return self.env.specialize(self, why)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __int__(self) -> int:
        return self._value("int()")

    def __index__(self) -> int:
        return self._value("an index, a slice, range() or a length")

    def __float__(self) -> float:
        return float(self._value("float()"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()"))

    def __hash__(self) -> int:
        if self.expr.is_constant:
            return hash(self.expr.constant)
        raise TypeError(f"unhashable: `{self}` is symbolic; int() of it specializes{line()}")

    # ------------------------------------------------------------------ the rest of int's interface

    def __round__(self, digits: int | None = None) -> SymInt:
        if digits is None or digits >= 0:
            return self
        return rounded(self, 10**-digits)

    def __trunc__(self) -> SymInt:
        return self

    def __floor__(self) -> SymInt:
        return self

    def __ceil__(self) -> SymInt:
        return self

    def conjugate(self) -> SymInt:
        return self

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        return self, 1

    def is_integer(self) -> bool:
        return True

    def bit_length(self) -> SymInt:
        return self.operations.integer(self.operations.interner.function("bit_length", self.expr), self.domain)

    def bit_count(self) -> int:
        return self._value("bit_count()").bit_count()

    def to_bytes(self, length: int = 1, byteorder: str = "big", *, signed: bool = False) -> bytes:
        return self._value("to_bytes()").to_bytes(length, "little" if byteorder == "little" else "big", signed=signed)

    @property
    def real(self) -> SymInt:
        return self

    @property
    def imag(self) -> int:
        return 0

    @property
    def numerator(self) -> SymInt:
        return self

    @property
    def denominator(self) -> int:
        return 1

    @property
    def as_float(self) -> SymFloat:
        """`float(self)` without forcing the value."""
        return converted(self)

    # ------------------------------------------------------------------ showing, copying

    def __str__(self) -> str:
        return str(self.expr)

    def __format__(self, spec: str) -> str:
        return format(self._value(f"the format {spec!r}"), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        if self.expr.is_constant and self.domain is self.operations.true:
            return int, (self.expr.constant,)
        unpicklable(self)


def rounded(size: SymInt, unit: int) -> SymInt:
    """To the nearest multiple of the unit, ties to the even multiple: `round(size, -digits)`."""
    interner = size.operations.interner
    low, rest = interner.floordiv(size.expr, unit), interner.mod(size.expr, unit)
    above = interner.gt(2 * rest, unit)
    tie = interner.conjunction((interner.eq(2 * rest, unit), interner.eq(interner.mod(low, 2), 1)))
    up = interner.ite(interner.disjunction((above, tie)), interner.one, interner.zero)
    return size.operations.integer((low + up) * unit, size.domain)


def converted(size: SymInt) -> SymFloat:
    """`float(size)` as a double that stays symbolic.

    Raises:
        OverflowError: the size is a constant too large for a double.
    """
    operations = size.operations
    found = operations.converted.get(size.key)
    if found is None:
        found = operations.real(floats.convert(size.expr), size.domain)
        if len(operations.converted) >= ENTRIES_KEPT:
            operations.converted.clear()
        operations.converted[size.key] = found
    return found


def quotient(a: object, b: object) -> object:
    """`a / b`, one of them a `SymInt`; of two integers Python rounds the exact quotient once."""
    size = a if isinstance(a, SymInt) else b
    assert isinstance(size, SymInt)
    operations = size.operations
    numerator, denominator = _integer(operations, a), _integer(operations, b)
    if numerator is None or denominator is None:
        if isinstance(b, float) and isinstance(a, SymInt):
            return a.as_float / b
        if isinstance(a, float) and isinstance(b, SymInt):
            return a / b.as_float
        return NotImplemented
    operations.same((numerator if size is b else denominator).operations, "/")
    try:
        value = floats.quotient(numerator.expr, denominator.expr)
    except ZeroDivisionError:
        raise refuse(f"{a} / {b}", "division by zero", ZeroDivisionError) from None
    return operations.real(value, operations.both(numerator.domain, denominator.domain))


def _integer(operations: Operations, value: object) -> SymInt | None:
    if isinstance(value, SymInt):
        return value
    if isinstance(value, SymBool):
        return value.integer
    return operations.whole(int(value)) if isinstance(value, int) else None


def power(base: SymInt, exponent: int | SymInt) -> SymInt | SymFloat:
    """`base ** exponent`: an integer where the exponent is not negative, which is a branch if that is not known; else
    a float."""
    if exponent < 0:
        return base.as_float ** (exponent.as_float if isinstance(exponent, SymInt) else float(exponent))
    return _integer_power(base, exponent)


def modular_power(base: SymInt, exponent: int | SymInt, modulus: int | SymInt) -> SymInt:
    """`pow(base, exponent, modulus)`."""
    if exponent < 0:  # an inverse modulo the modulus: Python finds it by the extended Euclidean algorithm
        return base.operations.whole(pow(base.__index__(), int(exponent), int(modulus)))
    return _integer_power(base, exponent) % modulus


def _integer_power(base: SymInt, exponent: int | SymInt) -> SymInt:
    operations = base.operations
    if isinstance(exponent, int):
        if exponent > LARGEST_EXPONENT and not base.expr.is_constant:
            raise refuse(f"{base} ** {exponent}", f"the exponent is beyond {LARGEST_EXPONENT}")
        return operations.integer(operations.interner.power(base.expr, exponent), base.domain)
    operations.same(exponent.operations, "**")
    needed = operations.interner.nonnegative(exponent.expr)
    domain = operations.both(base.domain, exponent.domain, needed)
    return operations.integer(operations.interner.power(base.expr, exponent.expr), domain)


numbers.Integral.register(SymInt)
