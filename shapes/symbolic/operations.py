"""Memoized arithmetic of symbolic numbers: equal operations give one object (hash consing).

    >>> from shapes import ShapeEnv
    >>> b, s = ShapeEnv().sizes("b s")
    >>> b * s is b * s
    True
    >>> question = (b * s) % 64 == 0
    >>> question is ((b * s) % 64 == 0)
    True

A program that runs again asks the same questions again, so `b * s` is a look-up by the keys of its operands, which are
serial numbers and never given twice. Tables belong to an environment and are bounded: a full one is emptied, which
costs time and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

from shapes.errors import ForeignSymbol, ShapeError
from shapes.origin import here
from solver.errors import bounded
from solver.floats import values as floats
from solver.floats.values import Float
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

ENTRIES_KEPT: Final = 1 << 15

Key = tuple[int, int, int]
"""Operand, operation, operand: keys of symbolic numbers, or the integer where the operation is with an integer."""

next_key: Final = count().__next__
next_operation: Final = count().__next__


class Interning(Protocol):
    """The methods of an environment that the tables need."""

    @property
    def interner(self) -> Interner: ...


Env = TypeVar("Env", bound=Interning, covariant=True)
Int = TypeVar("Int", covariant=True)
Bool = TypeVar("Bool", covariant=True)
Real = TypeVar("Real", covariant=True)


class Operations(Generic[Env, Int, Bool, Real]):
    """The integers, booleans and floats of one environment, and what has been computed from them."""

    __slots__ = (
        "__weakref__",
        "booleans",
        "converted",
        "env",
        "integers",
        "interner",
        "make_boolean",
        "make_float",
        "make_integer",
        "memo",
        "true",
    )

    def __init__(
        self,
        env: Env,
        integer: Callable[[Env, Expr, Prop, Operations[Env, Int, Bool, Real]], Int],
        boolean: Callable[[Env, Prop, Prop, Operations[Env, Int, Bool, Real]], Bool],
        real: Callable[[Env, Float, Prop, Operations[Env, Int, Bool, Real]], Real],
    ) -> None:
        self.env = env
        self.interner = env.interner
        self.true = self.interner.true
        self.make_integer, self.make_boolean, self.make_float = integer, boolean, real
        self.integers: dict[Expr | tuple[Expr, Prop], Int] = {}
        self.booleans: dict[Prop | tuple[Prop, Prop], Bool] = {}
        self.converted: dict[int, Real] = {}
        self.memo: dict[Key, object] = {}
        """The memoized results of `shapes.symbolic.operators`, which empties it at `ENTRIES_KEPT`."""

    def integer(self, expr: Expr, domain: Prop) -> Int:
        """The number with this expression, the same object while it is remembered."""
        key = expr if domain is self.true else (expr, domain)
        found = self.integers.get(key)
        if found is None:
            if len(self.integers) >= ENTRIES_KEPT:
                self.integers.clear()
            found = self.integers[key] = self.make_integer(self.env, expr, domain, self)
        return found

    def boolean(self, prop: Prop, domain: Prop) -> Bool:
        key = prop if domain is self.true else (prop, domain)
        found = self.booleans.get(key)
        if found is None:
            if len(self.booleans) >= ENTRIES_KEPT:
                self.booleans.clear()
            found = self.booleans[key] = self.make_boolean(self.env, prop, domain, self)
        return found

    def real(self, value: Float, domain: Prop) -> Real:
        """The float with this value; `domain` is that of the operands."""
        return self.make_float(self.env, value, self.both(domain, value.domain), self)

    def double(self, value: float) -> Real:
        """A float of Python's own."""
        return self.make_float(self.env, floats.constant(self.interner, value), self.true, self)

    def whole(self, value: int) -> Int:
        """An integer of Python's own."""
        return self.integer(self.interner.constant(value), self.true)

    def indicator(self, prop: Prop, domain: Prop) -> Int:
        """1 where the proposition holds, 0 where it does not."""
        return self.integer(self.interner.ite(prop, self.interner.one, self.interner.zero), domain)

    def convert(self, key: int, size: Expr, domain: Prop) -> Real:
        """`float(size)` as a double that stays symbolic, remembered by the key of the integer.

        Raises:
            OverflowError: the size is a constant too large for a double.
        """
        found = self.converted.get(key)
        if found is None:
            found = self.real(floats.convert(size), domain)
            if len(self.converted) >= ENTRIES_KEPT:
                self.converted.clear()
            self.converted[key] = found
        return found

    def both(self, first: Prop, second: Prop, *others: Prop) -> Prop:
        """The domain of an operation whose operands have these."""
        true = self.true
        if first is second is true and not others:
            return true
        return self.interner.conjunction((first, second, *others))

    def same(self, other: Interning, operation: str) -> None:
        """Numbers of two environments do not mix, unless one is a fork of the other."""
        if other.interner is not self.interner:
            raise ForeignSymbol(
                f"`{operation}` of sizes of two environments; `translate` takes a proposition across{line()}"
            )


def line() -> str:
    """The place of the program, to end an error message with."""
    origin = here()
    return "" if origin is None else f"  ({origin.place})"


def refuse(operation: str, reason: str, error: Callable[[str], Exception] = ShapeError) -> Exception:
    """An operation that cannot be done: what, why and where."""
    return error(bounded(f"`{operation}`: {reason}") + line())
