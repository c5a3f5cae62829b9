"""Symbolic floats: `float` in Python code, a program over IEEE doubles to the engine.

    >>> from shapes import ShapeEnv, sym_int
    >>> import math
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", hint=100)
    >>> share = s * 0.29
    >>> share, math.ceil(share), share > 28.5
    (0.29*float(s), ceil(0.29*float(s)), s >= 99)
    >>> env.hint(sym_int(share))                   # 28, as Python computes it; 29 in real arithmetic
    28
    >>> float(share)                               # a double is needed: a guard on the value
    28.999999999999996

Arithmetic, comparisons, `math.floor`, `math.ceil`, `math.trunc` and `round` stay symbolic.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import overload

from shapes.symbolic.base import Symbolic, unpicklable
from shapes.symbolic.operations import Environment, Operations, line, operations_of, refuse
from shapes.symbolic.symbool import SymBool
from shapes.symbolic.symint import SymInt
from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.values import Float
from solver.terms.expr import Expr
from solver.terms.prop import Prop


def _combination(
    sign: str, compute: Callable[[Float, Float], Float], *, reflected: bool = False
) -> Callable[[SymFloat, float | SymInt | SymFloat | SymBool], SymFloat]:
    """The method of an operator."""

    def method(self: SymFloat, other: float | SymInt | SymFloat | SymBool) -> SymFloat:
        that = self._float(other, sign)
        if that is None:
            return NotImplemented  # type: ignore[no-any-return]
        a, b = (that, self) if reflected else (self, that)
        try:
            value = compute(a.value, b.value)
        except ZeroDivisionError:
            raise refuse(f"{a} {sign} {b}", "division by zero", ZeroDivisionError) from None
        except (ArithmeticError, ValueError, NotExpressible) as error:
            raise refuse(f"{a} {sign} {b}", str(error)) from error
        return self.operations.real(value, self.operations.both(a.domain, b.domain))

    return method


def _comparison(sign: str) -> Callable[[SymFloat, object], SymBool]:
    """The method of a comparison; with an integer it is exact, as in Python."""

    def method(self: SymFloat, other: object) -> SymBool:
        if isinstance(other, SymBool):
            other = other.integer
        that: Float | Expr
        domain = self.domain
        if isinstance(other, SymInt):
            that, domain = other.expr, self.operations.both(domain, other.domain)
        elif isinstance(other, int):
            that = self.operations.interner.constant(int(other))
        else:
            known = self._float(other, sign)
            if known is None:
                return NotImplemented  # type: ignore[no-any-return]
            that, domain = known.value, self.operations.both(domain, known.domain)
        return self.operations.boolean(floats.compare(sign, self.value, that), domain)

    return method


class SymFloat(Symbolic):
    """A float computed from sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ("value",)

    kind = "float"

    def __init__(self, env: Environment, value: Float, domain: Prop, operations: Operations | None = None) -> None:
        self.env = env
        self.value = value
        self.domain = domain
        self.operations = operations_of(env) if operations is None else operations

    __add__ = _combination("+", floats.add)
    __radd__ = _combination("+", floats.add, reflected=True)
    __sub__ = _combination("-", floats.subtract)
    __rsub__ = _combination("-", floats.subtract, reflected=True)
    __mul__ = _combination("*", floats.multiply)
    __rmul__ = _combination("*", floats.multiply, reflected=True)
    __truediv__ = _combination("/", floats.divide)
    __rtruediv__ = _combination("/", floats.divide, reflected=True)
    __floordiv__ = _combination("//", floats.floordiv)
    __rfloordiv__ = _combination("//", floats.floordiv, reflected=True)
    __mod__ = _combination("%", floats.remainder)
    __rmod__ = _combination("%", floats.remainder, reflected=True)
    __pow__ = _combination("**", floats.power)
    __rpow__ = _combination("**", floats.power, reflected=True)

    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]
    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")

    def _float(self, other: object, sign: str) -> SymFloat | None:
        """The other operand as a float; None for what is no number."""
        if isinstance(other, SymFloat):
            self.operations.same(other.operations, sign)
            return other
        if isinstance(other, SymBool):
            other = other.integer
        if isinstance(other, SymInt):
            self.operations.same(other.operations, sign)
            return other.as_float
        if isinstance(other, float | int):
            return self.operations.double(float(other))
        return None

    def __divmod__(self, other: float | SymInt | SymFloat) -> tuple[SymFloat, SymFloat]:
        return self // other, self % other

    def __rdivmod__(self, other: float | SymInt) -> tuple[SymFloat, SymFloat]:
        return other // self, other % self

    def __neg__(self) -> SymFloat:
        return self._of(floats.negate(self.value))

    def __pos__(self) -> SymFloat:
        return self

    def __abs__(self) -> SymFloat:
        return self._of(floats.absolute(self.value))

    def _of(self, value: Float) -> SymFloat:
        return self.operations.real(value, self.domain)

    # ------------------------------------------------------------------ to integers

    def __floor__(self) -> SymInt:
        return self._rounded("math.floor", floats.floor)

    def __ceil__(self) -> SymInt:
        return self._rounded("math.ceil", floats.ceil)

    def __trunc__(self) -> SymInt:
        return self._rounded("math.trunc", floats.trunc)

    @overload
    def __round__(self, digits: None = None, /) -> SymInt: ...
    @overload
    def __round__(self, digits: int, /) -> SymFloat: ...
    def __round__(self, digits: int | None = None, /) -> SymInt | SymFloat:
        if digits is None:
            return self._rounded("round", floats.round_half_even)
        return self._of(floats.round_to(self.value, int(digits)))

    def _rounded(self, name: str, rounding: Callable[[Float], Expr]) -> SymInt:
        value, operations = self.value, self.operations
        try:
            expr = rounding(value)
        except (OverflowError, ValueError) as error:
            raise refuse(f"{name}({self})", str(error), type(error)) from None
        return operations.integer(expr, operations.both(self.domain, floats.finite(value)))

    # ------------------------------------------------------------------ where Python needs the value

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def __float__(self) -> float:
        """The value this time, as a guard on it."""
        if self.value.value is not None:
            return self.value.value
        value = self._at_hints()
        if value == 0:
            # 0.0 == -0.0, which are two doubles: this is the one that these integers give
            for argument in self.value.arguments:
                self.env.specialize(SymInt(self.env, argument, self.operations.true), "float()")
        elif not bool(self == value):
            raise refuse(f"float({self})", f"the value is {value!r}, which equals nothing")
        return value

    @property
    def hint(self) -> float | None:
        """The value this time; None where a symbol in it has none."""
        hints = [self.env.hint(argument) for argument in self.value.arguments]
        known = [hint for hint in hints if hint is not None]
        return self.value.program.evaluate(*known) if len(known) == len(hints) else None

    def _at_hints(self) -> float:
        arguments = []
        for argument in self.value.arguments:
            hint = self.env.hint(argument)
            if hint is None:  # the value, or an error that says why there is none
                hint = self.env.specialize(SymInt(self.env, argument, self.operations.true), "float()")
            arguments.append(hint)
        return self.value.program.evaluate(*arguments)

    def __int__(self) -> int:
        return int(self.__trunc__())

    def __complex__(self) -> complex:
        return complex(float(self))

    def __hash__(self) -> int:
        if self.value.value is not None:
            return hash(self.value.value)
        raise TypeError(f"unhashable: `{self}` is symbolic; float() of it specializes{line()}")

    # ------------------------------------------------------------------ the rest of float's interface

    def is_integer(self) -> SymBool:
        """A proposition, where Python has a bool."""
        return self == self.__floor__()

    def as_integer_ratio(self) -> tuple[int, int]:
        return float(self).as_integer_ratio()

    def hex(self) -> str:
        return float(self).hex()

    def conjugate(self) -> SymFloat:
        return self

    @property
    def real(self) -> SymFloat:
        return self

    @property
    def imag(self) -> float:
        return 0.0

    # ------------------------------------------------------------------ showing, copying

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        if self.value.value is not None:
            return float, (self.value.value,)
        unpicklable(self)


numbers.Real.register(SymFloat)
