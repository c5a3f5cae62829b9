"""The arithmetic of symbolic numbers: each operation is done once, and remembered.

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
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from shapes.errors import ForeignSymbol, ShapeError
from shapes.origin import here
from solver.errors import bounded
from solver.floats import values as floats
from solver.floats.values import Float
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.symbolic.symbool import SymBool
    from shapes.symbolic.symfloat import SymFloat
    from shapes.symbolic.symint import SymInt
    from solver.knowledge.facts import Facts

ENTRIES_KEPT: Final = 1 << 15

Key = tuple[int, int, int]
"""Operand, operation, operand: keys of symbolic numbers, or the integer where the operation is with an integer."""

next_key: Final = count().__next__
next_operation: Final = count().__next__
_tables: Final[WeakValueDictionary[int, Operations]] = WeakValueDictionary()


class Environment(Protocol):
    """What symbolic numbers need of an environment."""

    @property
    def interner(self) -> Interner: ...

    def guard(self, question: SymBool, /) -> bool:
        """The truth of a proposition that the program branches on."""
        ...

    @property
    def facts(self) -> Facts: ...

    def hint(self, size: Expr, /) -> int | None:
        """The value this time, if it is known."""
        ...

    def specialize(self, size: SymInt, /, why: str) -> int:
        """The value of a size where Python needs one."""
        ...


class Constructors(NamedTuple):
    """What makes symbolic numbers."""

    integer: type[SymInt]
    boolean: type[SymBool]
    real: type[SymFloat]


class Operations:
    """The numbers of one environment and what has been computed from them."""

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

    constructors: ClassVar[Constructors]
    """Handed in by the package, which knows all three."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.interner = env.interner
        self.true = self.interner.true
        self.make_integer, self.make_boolean, self.make_float = self.constructors
        self.integers: dict[Expr | tuple[Expr, Prop], SymInt] = {}
        self.booleans: dict[Prop | tuple[Prop, Prop], SymBool] = {}
        self.converted: dict[int, SymFloat] = {}
        self.memo: dict[Key, SymInt | SymBool] = {}
        """What was computed, for `shapes.symbolic.operators`, which empties it at `ENTRIES_KEPT`."""

    def integer(self, expr: Expr, domain: Prop) -> SymInt:
        """The number with this expression, the same object while it is remembered."""
        key = expr if domain is self.true else (expr, domain)
        found = self.integers.get(key)
        if found is None:
            if len(self.integers) >= ENTRIES_KEPT:
                self.integers.clear()
            found = self.integers[key] = self.make_integer(self.env, expr, domain, self)
        return found

    def boolean(self, prop: Prop, domain: Prop) -> SymBool:
        key = prop if domain is self.true else (prop, domain)
        found = self.booleans.get(key)
        if found is None:
            if len(self.booleans) >= ENTRIES_KEPT:
                self.booleans.clear()
            found = self.booleans[key] = self.make_boolean(self.env, prop, domain, self)
        return found

    def real(self, value: Float, domain: Prop) -> SymFloat:
        """The float with this value; `domain` is that of the operands."""
        return self.make_float(self.env, value, self.both(domain, value.domain), self)

    def double(self, value: float) -> SymFloat:
        """A float of Python's own."""
        return self.make_float(self.env, floats.constant(self.interner, value), self.true, self)

    def whole(self, value: int) -> SymInt:
        """An integer of Python's own."""
        return self.integer(self.interner.constant(value), self.true)

    def both(self, first: Prop, second: Prop, *others: Prop) -> Prop:
        """The domain of an operation whose operands have these."""
        true = self.true
        if first is second is true and not others:
            return true
        return self.interner.conjunction((first, second, *others))

    def same(self, other: Operations, operation: str) -> None:
        """Numbers of two environments do not mix, unless one is a fork of the other."""
        if other.interner is not self.interner:
            raise ForeignSymbol(
                f"`{operation}` of sizes of two environments; `translate` takes a proposition across{line()}"
            )


def operations_of(env: Environment) -> Operations:
    """The tables of an environment; they live as long as any number made by them."""
    found = _tables.get(id(env))
    if found is None or found.env is not env:
        found = _tables[id(env)] = Operations(env)
    return found


def line() -> str:
    """Where the program is, to end an error message with."""
    origin = here()
    return "" if origin is None else f"  ({origin.name}:{origin.line})"


def refuse(operation: str, reason: str, error: Callable[[str], Exception] = ShapeError) -> Exception:
    """An operation that cannot be done: what, why and where."""
    return error(bounded(f"`{operation}`: {reason}") + line())
