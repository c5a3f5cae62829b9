"""How the operator methods of `SymInt` are made: a look-up for what was computed before, one place for the rest.

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
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast, overload

from shapes.symbolic.operations import ENTRIES_KEPT, next_operation, refuse
from shapes.symbolic.symbool import SymBool
from solver.floats import values as floats
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.symbolic.symfloat import SymFloat
    from shapes.symbolic.symint import SymInt

    Number: TypeAlias = float | SymInt | SymFloat | SymBool


class Combination(Protocol):
    """An operator method: integers give an integer, a float gives a float."""

    @overload
    def __get__(self, instance: SymInt, owner: type[SymInt]) -> Combined: ...
    @overload
    def __get__(self, instance: None, owner: type[SymInt]) -> Combination: ...


class Combined(Protocol):
    @overload
    def __call__(self, other: int | SymInt | SymBool, /) -> SymInt: ...
    @overload
    def __call__(self, other: float | SymFloat, /) -> SymFloat: ...


class Comparison(Protocol):
    """A comparison method."""

    @overload
    def __get__(self, instance: SymInt, owner: type[SymInt]) -> Callable[[Number], SymBool]: ...
    @overload
    def __get__(self, instance: None, owner: type[SymInt]) -> Comparison: ...


def combination(
    sign: str,
    compute: Callable[[Expr, Expr | int], Expr],
    on_floats: Callable[[object, object], object] | None,
    *,
    reflected: bool = False,
    obligation: Literal["nonzero", "nonnegative"] | None = None,
) -> Combination:
    """The method of an operator. The look-up comes first; everything else happens once per pair of operands."""
    with_int, with_symbolic = next_operation(), next_operation()

    def method(self: SymInt, other: object) -> object:
        if type(other) is int:
            key = (self.key, with_int, other)
        elif type(other) is type(self):
            key = (self.key, with_symbolic, other.key)
        else:
            return _with_other(self, other, combine, on_floats, reflected)
        memo = self.memo
        found = memo.get(key)
        if found is None:
            found = combine(self, other)
            if len(memo) >= ENTRIES_KEPT:
                memo.clear()
            memo[key] = found
        return found

    def combine(self: SymInt, other: int | SymInt) -> SymInt:
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
        if obligation is not None:
            needed = _obligation(self, other, value, sign, obligation, reflected)
            if needed is not operations.true:
                domain = operations.both(domain, needed)
        try:
            return operations.integer(compute(self.expr, value), domain)
        except (OverflowError, MemoryError, RecursionError) as error:
            raise refuse(f"{other} {sign} {self}" if reflected else f"{self} {sign} {other}", str(error)) from error

    return method


def _obligation(
    self: SymInt, other: int | SymInt, value: Expr | int, sign: str, kind: str, reflected: bool
) -> Prop:
    """What the second operand must be; a constant that is not is Python's own error."""
    interner = self.operations.interner
    second = self.expr if reflected else value
    if isinstance(second, int):
        second = interner.constant(second)
    needed = interner.ne(second, 0) if kind == "nonzero" else interner.nonnegative(second)
    if needed is interner.false:
        written = f"{other} {sign} {self}" if reflected else f"{self} {sign} {other}"
        if kind == "nonzero":
            raise refuse(written, "division by zero", ZeroDivisionError)
        raise refuse(written, "negative shift count", ValueError)
    return needed


def _with_other(
    self: SymInt,
    other: object,
    combine: Callable[[SymInt, int | SymInt], SymInt],
    on_floats: Callable[[object, object], object] | None,
    reflected: bool,
) -> object:
    """With an operand that is neither a plain int nor symbolic: a bool, a float, an integer of another library."""
    if isinstance(other, SymBool):
        return combine(self, other.integer)
    if isinstance(other, float):
        if on_floats is None:
            return NotImplemented
        return on_floats(other, self.as_float) if reflected else on_floats(self.as_float, other)
    integer = _integral(other)
    return NotImplemented if integer is None else combine(self, integer)


def _integral(value: object) -> int | None:
    """The value of an integer of any library; None for anything else."""
    return operator.index(cast(int, value)) if isinstance(value, numbers.Integral) else None


def comparison(sign: str, compare: Callable[[Interner, Expr, Expr | int], Prop]) -> Comparison:
    """The method of a comparison; a float is compared exactly, as Python does."""
    with_int, with_symbolic = next_operation(), next_operation()

    def method(self: SymInt, other: object) -> object:
        if type(other) is int:
            key = (self.key, with_int, other)
        elif type(other) is type(self):
            key = (self.key, with_symbolic, other.key)
        else:
            return with_other(self, other)
        memo = self.memo
        found = memo.get(key)
        if found is None:
            found = compared(self, other)
            if len(memo) >= ENTRIES_KEPT:
                memo.clear()
            memo[key] = found
        return found

    def compared(self: SymInt, other: int | SymInt) -> SymBool:
        operations = self.operations
        if isinstance(other, int):
            return operations.boolean(compare(operations.interner, self.expr, other), self.domain)
        if other.operations is not operations:
            operations.same(other.operations, sign)
        domain = self.domain if other.domain is self.domain else operations.both(self.domain, other.domain)
        return operations.boolean(compare(operations.interner, self.expr, other.expr), domain)

    def with_other(self: SymInt, other: object) -> object:
        if isinstance(other, SymBool):
            return compared(self, other.integer)
        if isinstance(other, float):
            operations = self.operations
            constant = floats.constant(operations.interner, other)
            return operations.boolean(floats.compare(sign, self.expr, constant), self.domain)
        integer = _integral(other)
        return NotImplemented if integer is None else compared(self, integer)

    return method
