"""Symbolic integers, booleans and floats: `int`, `bool` and `float` in Python code, terms to the engine.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 100))
    >>> (b * s + 7) // 8, -s % 16, divmod(s, 16), s / 2, round(s * 0.5)
    (ceildiv(b*s, 8), (-s) % 16, (s//16, s % 16), truediv(s, 2), round(0.5*float(s)))
    >>> s**2, 2**s, pow(s, 2, 5), s**-1
    (s**2, 2**s, s**2 % 5, float(s)**-1.0)
    >>> p = b > 2                               # a proposition, not yet a branch
    >>> p & (s > 64), p == (b >= 3)
    (b >= 3 and s >= 65, True)
    >>> 1 if p else 0                           # a branch: the hint decides, as a guard
    1
    >>> [str(guard.prop) for guard in env.guards()]
    ['b >= 3']
    >>> [0] * b                                 # Python needs the number: a guard, and a line in the log
    [0, 0, 0, 0]
    >>> import math
    >>> share = s * 0.29
    >>> share, math.ceil(share), share > 28.5   # as IEEE doubles: at 100 it is 28.999999999999996
    (0.29*float(s), ceil(0.29*float(s)), s >= 99)

Operators, comparisons, `divmod`, `round`, `abs`, `math.floor`, `math.ceil` and `math.trunc` stay symbolic. `if`, `and`,
`or`, `not` and `int()` need the value: `sym_and` and its like (`shapes.symbolic.choices`) take their place.
`docs/concretization.md` lists every operation in which Python concretizes a value. The three are one recursive type: a
comparison of integers is a boolean, which counts as 0 or 1, and a quotient is a float.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, Protocol, TypeAlias, overload
from weakref import WeakValueDictionary

from shapes.symbolic.base import Boolean, Integer, Real
from shapes.symbolic.operations import Operations, next_key, refuse
from shapes.symbolic.operators import (
    Method,
    applied,
    combination,
    comparison,
    connective,
    equality,
    exclusive,
    of_integer,
    power,
    quotient,
    real_combination,
    real_comparison,
    rounded,
)
from solver.floats import values as floats
from solver.floats.values import Float
from solver.knowledge.facts import Facts
from solver.styled_text import html_of_page, line, span
from solver.syntax.short_text import number_text
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

Number: TypeAlias = "float | SymInt | SymFloat | SymBool"
Whole: TypeAlias = "int | SymInt | SymBool"
Tables: TypeAlias = "Operations[Environment, SymInt, SymBool, SymFloat]"
Equality: TypeAlias = "Callable[[object], SymBool]"
Comparison: TypeAlias = "Callable[[Number], SymBool]"
Division: TypeAlias = "Callable[[Number], SymFloat]"


class Environment(Protocol):
    """The methods of an environment that symbolic numbers need."""

    @property
    def interner(self) -> Interner: ...

    @property
    def names(self) -> Mapping[str, Expr]: ...

    def guard(self, question: SymBool, /) -> bool:
        """The truth of a proposition that the program branches on."""
        ...

    @property
    def known(self) -> Facts: ...

    def hint(self, size: Expr, /) -> int | None:
        """The value this time, if it is known."""
        ...

    def specialize(self, size: SymInt, /, why: str) -> int:
        """The value of a size where Python needs one."""
        ...


class Combination(Protocol):
    """Integers give an integer, a float gives a float."""

    @overload
    def __call__(self, other: Whole, /) -> SymInt: ...
    @overload
    def __call__(self, other: float | SymFloat, /) -> SymFloat: ...


class Connective(Protocol):
    """Booleans give a boolean, integers give an integer."""

    @overload
    def __call__(self, other: bool | SymBool, /) -> SymBool: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, other: int | SymInt, /) -> SymInt: ...


_tables: Final[WeakValueDictionary[int, Tables]] = WeakValueDictionary()


def operations_of(env: Environment) -> Tables:
    """The tables of an environment; they live as long as any number made by them."""
    found = _tables.get(id(env))
    if found is None or found.env is not env:
        found = _tables[id(env)] = Operations(env, SymInt, SymBool, SymFloat)
    return found


class SymInt(Integer):
    """An integer expression over sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ()

    kind = "int"
    env: Environment
    operations: Tables
    __hash__ = Integer.__hash__

    def __init__(self, env: Environment, expr: Expr, domain: Prop, operations: Tables | None = None) -> None:
        if operations is None:
            operations = operations_of(env)
            operations.integers.setdefault(expr if domain is operations.true else (expr, domain), self)
        self.env = env
        self.expr = expr
        self.domain = domain
        self.operations = operations
        self.memo = operations.memo
        self.key = next_key()

    def _repr_html_(self) -> str:
        """The expression and its value this time, as notebooks show it."""
        hint = self.env.hint(self.expr)
        now = "no hint" if hint is None else f"{number_text(hint)} this time"
        return html_of_page([line(span(str(self), "fact"), span(f"   {now}", "muted"))])

    __add__: Method[Combination] = combination("+", operator.add, operator.add)
    __radd__: Method[Combination] = combination("+", operator.add, operator.add, reflected=True)
    __sub__: Method[Combination] = combination("-", operator.sub, operator.sub)
    __rsub__: Method[Combination] = combination("-", lambda a, b: b - a, operator.sub, reflected=True)
    __mul__: Method[Combination] = combination("*", operator.mul, operator.mul)
    __rmul__: Method[Combination] = combination("*", operator.mul, operator.mul, reflected=True)
    __floordiv__: Method[Combination] = combination("//", operator.floordiv, operator.floordiv, needs="nonzero")
    __rfloordiv__: Method[Combination] = combination(
        "//", lambda a, b: b // a, operator.floordiv, reflected=True, needs="nonzero"
    )
    __mod__: Method[Combination] = combination("%", operator.mod, operator.mod, needs="nonzero")
    __rmod__: Method[Combination] = combination("%", lambda a, b: b % a, operator.mod, reflected=True, needs="nonzero")
    __lshift__: Method[Combination] = combination("<<", applied("shl"), needs="nonnegative")
    __rlshift__: Method[Combination] = combination(
        "<<", applied("shl", reflected=True), reflected=True, needs="nonnegative"
    )
    __rshift__: Method[Combination] = combination(">>", applied("shr"), needs="nonnegative")
    __rrshift__: Method[Combination] = combination(
        ">>", applied("shr", reflected=True), reflected=True, needs="nonnegative"
    )
    __and__: Method[Combination] = combination("&", applied("bitand"))
    __rand__: Method[Combination] = __and__
    __or__: Method[Combination] = combination("|", applied("bitor"))
    __ror__: Method[Combination] = __or__
    __xor__: Method[Combination] = combination("^", applied("bitxor"))
    __rxor__: Method[Combination] = __xor__

    __eq__: Method[Equality] = comparison("==", Interner.eq)  # type: ignore[assignment]
    __ne__: Method[Equality] = comparison("!=", Interner.ne)  # type: ignore[assignment]
    __lt__: Method[Comparison] = comparison("<", Interner.lt)
    __le__: Method[Comparison] = comparison("<=", Interner.le)
    __gt__: Method[Comparison] = comparison(">", Interner.gt)
    __ge__: Method[Comparison] = comparison(">=", Interner.ge)

    def __neg__(self) -> SymInt:
        return self * -1

    def __invert__(self) -> SymInt:
        return self * -1 - 1

    def __abs__(self) -> SymInt:
        return self.operations.integer(self.operations.interner.absolute(self.expr), self.domain)

    def __divmod__(self, other: Whole) -> tuple[SymInt, SymInt]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[SymInt, SymInt]:
        return other // self, other % self

    @overload
    def __pow__(self, other: Whole, modulus: None = None, /) -> SymInt: ...
    @overload
    def __pow__(self, other: Whole, modulus: int | SymInt, /) -> SymInt: ...
    @overload
    def __pow__(self, other: float | SymFloat, modulus: None = None, /) -> SymFloat: ...
    def __pow__(self, other: object, modulus: int | SymInt | None = None, /) -> object:
        return power(self, other, modulus)

    @overload
    def __rpow__(self, other: int, modulus: int | None = None, /) -> SymInt | SymFloat: ...
    @overload
    def __rpow__(self, other: float, modulus: None = None, /) -> SymFloat: ...
    def __rpow__(self, other: object, modulus: int | None = None, /) -> object:
        return power(other, self, modulus)

    __truediv__: Method[Division] = quotient
    __rtruediv__: Method[Division] = lambda self, other: quotient(other, self)

    # ------------------------------------------------------------------ where Python needs the value

    def _value(self, why: str) -> int:
        expr = self.expr
        if expr.is_constant and self.domain is self.operations.true:
            return expr.constant
        return self.env.specialize(self, why)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __round__(self, digits: int | None = None) -> SymInt:
        if digits is None or digits >= 0:
            return self
        return self.operations.integer(rounded(self.operations.interner, self.expr, 10**-digits), self.domain)

    def bit_length(self) -> SymInt:
        return self.operations.integer(self.operations.interner.function("bit_length", self.expr), self.domain)

    @property
    def as_float(self) -> SymFloat:
        """`float(self)` without forcing the value."""
        return self.operations.convert(self.key, self.expr, self.domain)


class SymBool(Boolean):
    """A proposition about sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ()

    kind = "bool"
    env: Environment
    operations: Tables
    __hash__ = Boolean.__hash__

    def __init__(self, env: Environment, prop: Prop, domain: Prop, operations: Tables | None = None) -> None:
        self.env = env
        self.prop = prop
        self.domain = domain
        self.operations = operations_of(env) if operations is None else operations

    # ------------------------------------------------------------------ where Python needs to know

    def __bool__(self) -> bool:
        return self.env.guard(self)

    __and__: Method[Connective] = connective("&", lambda p, q: Prop.join(p.interner, "and", (p, q)), operator.and_)
    __or__: Method[Connective] = connective("|", lambda p, q: Prop.join(p.interner, "or", (p, q)), operator.or_)
    __xor__: Method[Connective] = connective("^", exclusive, operator.xor)
    __rand__: Method[Connective] = __and__
    __ror__: Method[Connective] = __or__
    __rxor__: Method[Connective] = __xor__
    __eq__: Method[Equality] = equality("==", operator.eq)  # type: ignore[assignment]
    __ne__: Method[Equality] = equality("!=", operator.ne)  # type: ignore[assignment]

    def negated(self) -> SymBool:
        """`not self`, which in Python itself needs to know."""
        return self.operations.boolean(self.prop.negation, self.domain)

    @property
    def integer(self) -> SymInt:
        """1 where it holds, 0 where it does not."""
        return self.operations.indicator(self.prop, self.domain)

    __add__: Method[Callable[[Whole], SymInt]] = of_integer(operator.add)
    __radd__: Method[Callable[[int], SymInt]] = of_integer(operator.add, reflected=True)
    __sub__: Method[Callable[[Whole], SymInt]] = of_integer(operator.sub)
    __rsub__: Method[Callable[[int], SymInt]] = of_integer(operator.sub, reflected=True)
    __mul__: Method[Callable[[Whole], SymInt]] = of_integer(operator.mul)
    __rmul__: Method[Callable[[int], SymInt]] = of_integer(operator.mul, reflected=True)
    __floordiv__: Method[Callable[[Whole], SymInt]] = of_integer(operator.floordiv)
    __rfloordiv__: Method[Callable[[int], SymInt]] = of_integer(operator.floordiv, reflected=True)
    __mod__: Method[Callable[[Whole], SymInt]] = of_integer(operator.mod)
    __rmod__: Method[Callable[[int], SymInt]] = of_integer(operator.mod, reflected=True)
    __lshift__: Method[Callable[[Whole], SymInt]] = of_integer(operator.lshift)
    __rlshift__: Method[Callable[[int], SymInt]] = of_integer(operator.lshift, reflected=True)
    __rshift__: Method[Callable[[Whole], SymInt]] = of_integer(operator.rshift)
    __rrshift__: Method[Callable[[int], SymInt]] = of_integer(operator.rshift, reflected=True)
    __truediv__: Method[Callable[[Whole], SymFloat]] = of_integer(operator.truediv)
    __rtruediv__: Method[Callable[[int], SymFloat]] = of_integer(operator.truediv, reflected=True)
    __divmod__: Method[Callable[[Whole], tuple[SymInt, SymInt]]] = of_integer(divmod)
    __rdivmod__: Method[Callable[[int], tuple[SymInt, SymInt]]] = of_integer(divmod, reflected=True)

    def __lt__(self, other: Whole) -> SymBool:
        return self.integer < other

    def __le__(self, other: Whole) -> SymBool:
        return self.integer <= other

    def __gt__(self, other: Whole) -> SymBool:
        return self.integer > other

    def __ge__(self, other: Whole) -> SymBool:
        return self.integer >= other

    def __pow__(self, other: int, modulus: int | None = None, /) -> SymInt | SymFloat:
        return self.integer.__pow__(other) if modulus is None else self.integer.__pow__(other, modulus)

    def __rpow__(self, other: int, modulus: int | None = None, /) -> SymInt | SymFloat:
        return self.integer.__rpow__(other, modulus)

    def __neg__(self) -> SymInt:
        return -self.integer

    def __pos__(self) -> SymInt:
        return self.integer

    def __abs__(self) -> SymInt:
        return self.integer

    def __invert__(self) -> NoReturn:
        """Neither the negation nor -1 or -2, which `~` of a bool is: either would surprise whoever means the other."""
        raise refuse(f"~({self})", "use sym_not for the negation, sym_int for the integer", TypeError)


class SymFloat(Real):
    """A float computed from sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ()

    kind = "float"
    env: Environment
    operations: Tables
    __hash__ = Real.__hash__

    def __init__(self, env: Environment, value: Float, domain: Prop, operations: Tables | None = None) -> None:
        self.env = env
        self.value = value
        self.domain = domain
        self.operations = operations_of(env) if operations is None else operations

    __add__: Method[Division] = real_combination("+", floats.add)
    __radd__: Method[Division] = real_combination("+", floats.add, reflected=True)
    __sub__: Method[Division] = real_combination("-", floats.subtract)
    __rsub__: Method[Division] = real_combination("-", floats.subtract, reflected=True)
    __mul__: Method[Division] = real_combination("*", floats.multiply)
    __rmul__: Method[Division] = real_combination("*", floats.multiply, reflected=True)
    __truediv__: Method[Division] = real_combination("/", floats.divide)
    __rtruediv__: Method[Division] = real_combination("/", floats.divide, reflected=True)
    __floordiv__: Method[Division] = real_combination("//", floats.floordiv)
    __rfloordiv__: Method[Division] = real_combination("//", floats.floordiv, reflected=True)
    __mod__: Method[Division] = real_combination("%", floats.remainder)
    __rmod__: Method[Division] = real_combination("%", floats.remainder, reflected=True)
    __pow__: Method[Division] = real_combination("**", floats.power)
    __rpow__: Method[Division] = real_combination("**", floats.power, reflected=True)

    __eq__: Method[Equality] = real_comparison("==")  # type: ignore[assignment]
    __ne__: Method[Equality] = real_comparison("!=")  # type: ignore[assignment]
    __lt__: Method[Comparison] = real_comparison("<")
    __le__: Method[Comparison] = real_comparison("<=")
    __gt__: Method[Comparison] = real_comparison(">")
    __ge__: Method[Comparison] = real_comparison(">=")

    def __divmod__(self, other: float | SymInt | SymFloat) -> tuple[SymFloat, SymFloat]:
        return self // other, self % other

    def __rdivmod__(self, other: float | SymInt) -> tuple[SymFloat, SymFloat]:
        return other // self, other % self

    def __neg__(self) -> SymFloat:
        return self._of(floats.negate(self.value))

    def __abs__(self) -> SymFloat:
        return self._of(floats.absolute(self.value))

    def _of(self, value: Float) -> SymFloat:
        return self.operations.real(value, self.domain)

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

    def is_integer(self) -> SymBool:
        """A proposition, where Python has a bool."""
        return self == self.__floor__()


numbers.Integral.register(SymInt)
numbers.Real.register(SymFloat)
