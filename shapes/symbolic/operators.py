"""Operator methods of symbolic numbers. Those of integers look up what was computed before (hash consing).

>>> from shapes import ShapeEnv
>>> s = ShapeEnv(origin=lambda: None).symbol("s")
>>> (s // (s - 1)).domain                          # what must hold for it to make sense goes along
<s != 1>
>>> s * True, s * 0.5, s < 2.5                     # a bool counts, a float makes a float, and is compared exactly
(s, 0.5*float(s), s <= 2)
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeVar, cast, overload

from shapes.symbolic.base import Boolean, Integer, Real, Symbolic, as_integer, as_real
from shapes.symbolic.operations import ENTRIES_KEPT, next_operation, refuse
from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.values import Float
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop

S = TypeVar("S", bound=Symbolic)
Operator = Callable[[object, object], object]
Called = TypeVar("Called", covariant=True)
Implementation = Callable[[S, object], object]

LARGEST_EXPONENT: Final = 1 << 12
"""A constant exponent beyond this is refused: its normal form has that many factors."""


class Method(Protocol[Called]):
    """An operator method, and how it may be called."""

    @overload
    def __get__(self, instance: Symbolic, owner: type[Symbolic]) -> Called: ...
    @overload
    def __get__(self, instance: None, owner: type[Symbolic]) -> Method[Called]: ...


def _remembered(
    compute: Callable[[Integer, int | Integer], Integer | Boolean], with_float: Callable[[Integer, float], object]
) -> Implementation[Integer]:
    """The method that does it once per pair of operands: the look-up comes first, the common operands before others."""
    with_int, with_symbolic = next_operation(), next_operation()

    def method(self: Integer, other: object) -> object:
        if type(other) is int:
            key = (self.key, with_int, other)
        elif type(other) is type(self):
            key = (self.key, with_symbolic, other.key)
        else:
            return with_other(self, other)
        memo = self.memo
        found = memo.get(key)
        if found is None:
            found = compute(self, other)
            if len(memo) >= ENTRIES_KEPT:
                memo.clear()
            memo[key] = found
        return found

    def with_other(self: Integer, other: object) -> object:
        if isinstance(other, Boolean):
            return compute(self, as_integer(other))
        if isinstance(other, float):
            return with_float(self, other)
        integer = _integral(other)
        return NotImplemented if integer is None else compute(self, integer)

    return method


def _integral(value: object) -> int | None:
    """The value of an integer of any library; None for anything else."""
    return operator.index(cast(int, value)) if isinstance(value, numbers.Integral) else None


def applied(name: str, *, reflected: bool = False) -> Callable[[Expr, Expr | int], Expr]:
    """The normal form of an operation of the table."""
    operation = OPERATIONS[name]
    if reflected:
        return lambda a, b: a.interner.apply(operation, b, a)
    return lambda a, b: a.interner.apply(operation, a, b)


def combination(
    sign: str,
    compute: Callable[[Expr, Expr | int], Expr],
    on_floats: Operator | None = None,
    *,
    reflected: bool = False,
    needs: Literal["nonzero", "nonnegative"] | None = None,
) -> Implementation[Integer]:
    """The method of an operator of integers. A bool counts, a float makes a float."""

    def combine(self: Integer, other: int | Integer) -> Integer:
        operations = self.operations
        domain = self.domain
        value: Expr | int
        if isinstance(other, int):
            value = other
        else:
            if other.operations is not operations:
                operations.same(other.operations, sign)
            value = other.expr
            if other.domain is not domain:
                domain = operations.both(domain, other.domain)
        if needs is not None:
            needed = _obligation(self, other, value, sign, needs, reflected)
            if needed is not operations.true:
                domain = operations.both(domain, needed)
        try:
            return operations.integer(compute(self.expr, value), domain)
        except (OverflowError, MemoryError, RecursionError) as error:
            raise refuse(f"{other} {sign} {self}" if reflected else f"{self} {sign} {other}", str(error)) from error

    def with_float(self: Integer, other: float) -> object:
        if on_floats is None:
            return NotImplemented
        return on_floats(other, as_real(self)) if reflected else on_floats(as_real(self), other)

    return _remembered(combine, with_float)


def _obligation(self: Integer, other: int | Integer, value: Expr | int, sign: str, kind: str, reflected: bool) -> Prop:
    """The requirement on the second operand; a constant that violates it is Python's own error."""
    interner = self.operations.interner
    second = self.expr if reflected else value
    if isinstance(second, int):
        second = interner.constant(second)
    needed = interner.ne(second, 0) if kind == "nonzero" else Prop.nonnegative(second)
    if needed is interner.false:
        written = f"{other} {sign} {self}" if reflected else f"{self} {sign} {other}"
        if kind == "nonzero":
            raise refuse(written, "division by zero", ZeroDivisionError)
        raise refuse(written, "negative shift count", ValueError)
    return needed


def comparison(sign: str, compare: Callable[[Interner, Expr, Expr | int], Prop]) -> Implementation[Integer]:
    """The method of a comparison; a float is compared exactly, as Python does."""

    def compared(self: Integer, other: int | Integer) -> Boolean:
        operations = self.operations
        if isinstance(other, int):
            return operations.boolean(compare(operations.interner, self.expr, other), self.domain)
        if other.operations is not operations:
            operations.same(other.operations, sign)
        domain = self.domain if other.domain is self.domain else operations.both(self.domain, other.domain)
        return operations.boolean(compare(operations.interner, self.expr, other.expr), domain)

    def with_float(self: Integer, other: float) -> Boolean:
        operations = self.operations
        constant = floats.constant(operations.interner, other)
        return operations.boolean(floats.compare(sign, self.expr, constant), self.domain)

    return _remembered(compared, with_float)


def quotient(a: object, b: object) -> object:
    """`a / b`, one of them an integer; of two integers Python rounds the exact quotient once."""
    size = a if isinstance(a, Integer) else b
    assert isinstance(size, Integer)
    operations = size.operations
    numerator, denominator = _whole(size, a), _whole(size, b)
    if numerator is None or denominator is None:
        if isinstance(b, float) and size is a:
            return operator.truediv(as_real(size), b)
        if isinstance(a, float):
            return operator.truediv(a, as_real(size))
        return NotImplemented
    operations.same((numerator if size is b else denominator).operations, "/")
    try:
        value = floats.quotient(numerator.expr, denominator.expr)
    except ZeroDivisionError:
        raise refuse(f"{a} / {b}", "division by zero", ZeroDivisionError) from None
    return operations.real(value, operations.both(numerator.domain, denominator.domain))


def _whole(size: Integer, value: object) -> Integer | None:
    if isinstance(value, Integer | Boolean):
        return as_integer(value)
    return size.operations.whole(int(value)) if isinstance(value, int) else None


def power(base: object, exponent: object, modulus: object) -> object:
    """`base ** exponent`, one of them an integer: an integer where the exponent is not negative, which is a branch if
    that is not known, else a float; or `pow(base, exponent, modulus)`."""
    size = base if isinstance(base, Integer) else exponent
    assert isinstance(size, Integer)
    if modulus is None and isinstance(exponent, float):
        return operator.pow(as_real(size), exponent)
    if modulus is None and isinstance(base, float):
        return operator.pow(size.operations.double(base), as_real(size))
    whole, times = _whole(size, base), exponent if type(exponent) is int else _whole(size, exponent)
    if whole is None or times is None:
        return NotImplemented
    if not _is_negative(times):
        found = _integer_power(whole, times)
        return found if modulus is None else operator.mod(found, modulus)
    if modulus is None:
        return operator.pow(as_real(whole), as_real(times) if isinstance(times, Integer) else float(times))
    # an inverse modulo the modulus: Python finds it by the extended Euclidean algorithm
    return size.operations.whole(pow(operator.index(whole), operator.index(times), operator.index(cast(int, modulus))))


def _is_negative(value: int | Integer) -> bool:
    if isinstance(value, int):
        return value < 0
    return bool(value.operations.boolean(value.operations.interner.lt(value.expr, 0), value.domain))


def _integer_power(base: Integer, exponent: int | Integer) -> Integer:
    operations = base.operations
    if isinstance(exponent, int):
        if exponent > LARGEST_EXPONENT and not base.expr.is_constant:
            raise refuse(f"{base} ** {exponent}", f"the exponent is beyond {LARGEST_EXPONENT}")
        return operations.integer(operations.interner.power(base.expr, exponent), base.domain)
    operations.same(exponent.operations, "**")
    needed = Prop.nonnegative(exponent.expr)
    domain = operations.both(base.domain, exponent.domain, needed)
    return operations.integer(operations.interner.power(base.expr, exponent.expr), domain)


def rounded(interner: Interner, size: Expr, unit: int) -> Expr:
    """The nearest multiple of the unit, ties to the even multiple: `round(size, -digits)`."""
    low, rest = interner.floordiv(size, unit), interner.mod(size, unit)
    above = interner.gt(2 * rest, unit)
    tie = interner.conjunction((interner.eq(2 * rest, unit), interner.eq(interner.mod(low, 2), 1)))
    return (low + interner.ite(interner.disjunction((above, tie)), interner.one, interner.zero)) * unit


def of_integer(compute: Operator, *, reflected: bool = False) -> Implementation[Boolean]:
    """The method of an operator that takes a boolean for 0 or 1."""

    def method(self: Boolean, other: object) -> object:
        return compute(other, as_integer(self)) if reflected else compute(as_integer(self), other)

    return method


def connective(sign: str, join: Callable[[Prop, Prop], Prop], compute: Operator) -> Implementation[Boolean]:
    """The method of `&`, `|` or `^`: of two booleans a boolean, else an integer. Both operands are evaluated."""

    def method(self: Boolean, other: object) -> object:
        that = _boolean(self, other, sign)
        if that is None:
            return compute(as_integer(self), other)
        operations = self.operations
        return operations.boolean(join(self.prop, that.prop), operations.both(self.domain, that.domain))

    return method


def equality(sign: Literal["==", "!="], compute: Operator) -> Implementation[Boolean]:
    """The method of `==` or `!=` of booleans, which 0 and 1 are as well."""
    joined = connective(sign, exclusive if sign == "!=" else lambda p, q: exclusive(p, q).negation, compute)

    def method(self: Boolean, other: object) -> object:
        if not isinstance(other, bool | int | float | Boolean | Integer):
            return NotImplemented
        return joined(self, bool(other) if type(other) is int and other in (0, 1) else other)

    return method


def exclusive(p: Prop, q: Prop) -> Prop:
    cases = [Prop.join(p.interner, "and", both) for both in ((p, q.negation), (p.negation, q))]
    return Prop.join(p.interner, "or", cases)


def _boolean(self: Boolean, other: object, sign: str) -> Boolean | None:
    if isinstance(other, Boolean):
        self.operations.same(other.operations, sign)
        return other
    if type(other) is bool:
        interner = self.operations.interner
        return self.operations.boolean(interner.true if other else interner.false, interner.true)
    return None


def real_combination(
    sign: str, compute: Callable[[Float, Float], Float], *, reflected: bool = False
) -> Implementation[Real]:
    """The method of an operator of floats."""

    def method(self: Real, other: object) -> object:
        that = _real(self, other, sign)
        if that is None:
            return NotImplemented
        a, b = (that, self) if reflected else (self, that)
        try:
            value = compute(a.value, b.value)
        except ZeroDivisionError:
            raise refuse(f"{a} {sign} {b}", "division by zero", ZeroDivisionError) from None
        except (ArithmeticError, ValueError, NotExpressible) as error:
            raise refuse(f"{a} {sign} {b}", str(error)) from error
        return self.operations.real(value, self.operations.both(a.domain, b.domain))

    return method


def real_comparison(sign: str) -> Implementation[Real]:
    """The method of a comparison of floats; with an integer it is exact, as in Python."""

    def method(self: Real, other: object) -> object:
        operations = self.operations
        that: Float | Expr
        domain = self.domain
        if isinstance(other, Integer | Boolean):
            size = as_integer(other)
            that, domain = size.expr, operations.both(domain, size.domain)
        elif isinstance(other, int):
            that = operations.interner.constant(int(other))
        else:
            known = _real(self, other, sign)
            if known is None:
                return NotImplemented
            that, domain = known.value, operations.both(domain, known.domain)
        return operations.boolean(floats.compare(sign, self.value, that), domain)

    return method


def _real(self: Real, other: object, sign: str) -> Real | None:
    """The other operand as a float; None for what is no number."""
    if isinstance(other, Symbolic):
        self.operations.same(other.operations, sign)
    if isinstance(other, Real | Integer | Boolean):
        return as_real(other)
    return self.operations.double(float(other)) if isinstance(other, float | int) else None
