"""Symbolic truth values: `bool` in Python code, a proposition to the engine.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> p = b > 2
    >>> p & (s > 64), p | (s > 64), p == (b >= 3)      # no branch: nothing is committed
    (b >= 3 and s >= 65, b >= 3 or s >= 65, True)
    >>> 1 if p else 0                                  # a branch: the hint decides, as a guard
    1
    >>> [str(guard.prop) for guard in env.guards()]
    ['b >= 3']

`&`, `|`, `^`, `==` and arithmetic stay symbolic (`p + q` counts). `if`, `and`, `or`, `not` and `int(p)` need to know:
they guard. `sym_and`, `sym_or`, `sym_not` and `sym_ite` (see `shapes.symbolic.choices`) take their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard, overload

from shapes.symbolic.base import Symbolic, unpicklable
from shapes.symbolic.operations import Environment, Operations, line, operations_of
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.symbolic.symfloat import SymFloat
    from shapes.symbolic.symint import SymInt


class SymBool(Symbolic):
    """A proposition about sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ("prop",)

    kind = "bool"

    def __init__(self, env: Environment, prop: Prop, domain: Prop, operations: Operations | None = None) -> None:
        self.env = env
        self.prop = prop
        self.domain = domain
        self.operations = operations_of(env) if operations is None else operations

    # ------------------------------------------------------------------ where Python needs to know

    def __bool__(self) -> bool:
        return self.env.guard(self)

    def __int__(self) -> int:
        return int(self.env.guard(self))

    def __index__(self) -> int:
        return int(self.env.guard(self))

    def __float__(self) -> float:
        return float(self.env.guard(self))

    def __complex__(self) -> complex:
        return complex(self.env.guard(self))

    def __hash__(self) -> int:
        if self.is_constant:
            return hash(self.prop.kind == "true")
        raise TypeError(f"unhashable: `{self}` is symbolic; bool() of it guards{line()}")

    @property
    def is_constant(self) -> bool:
        return self.prop.kind in ("true", "false") and self.domain is self.operations.true

    # ------------------------------------------------------------------ as a truth value

    @overload
    def __and__(self, other: bool | SymBool) -> SymBool: ...  # type: ignore[overload-overlap]
    @overload
    def __and__(self, other: int | SymInt) -> SymInt: ...
    def __and__(self, other: object) -> object:
        that = self._boolean(other, "&")
        if that is None:
            return self.integer.__and__(other)  # type: ignore[call-overload]
        return self._joined(that, self.operations.interner.conjunction((self.prop, that.prop)))

    @overload
    def __or__(self, other: bool | SymBool) -> SymBool: ...  # type: ignore[overload-overlap]
    @overload
    def __or__(self, other: int | SymInt) -> SymInt: ...
    def __or__(self, other: object) -> object:
        that = self._boolean(other, "|")
        if that is None:
            return self.integer.__or__(other)  # type: ignore[call-overload]
        return self._joined(that, self.operations.interner.disjunction((self.prop, that.prop)))

    @overload
    def __xor__(self, other: bool | SymBool) -> SymBool: ...  # type: ignore[overload-overlap]
    @overload
    def __xor__(self, other: int | SymInt) -> SymInt: ...
    def __xor__(self, other: object) -> object:
        that = self._boolean(other, "^")
        if that is None:
            return self.integer.__xor__(other)  # type: ignore[call-overload]
        return self._joined(that, _different(self.prop, that.prop))

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __eq__(self, other: object) -> SymBool:  # type: ignore[override]
        that = self._boolean(bool(other) if type(other) is int and other in (0, 1) else other, "==")
        if that is None:
            return self.integer.__eq__(other) if _is_number(other) else NotImplemented
        return self._joined(that, _different(self.prop, that.prop).negation)

    def __ne__(self, other: object) -> SymBool:  # type: ignore[override]
        that = self._boolean(bool(other) if type(other) is int and other in (0, 1) else other, "!=")
        if that is None:
            return self.integer.__ne__(other) if _is_number(other) else NotImplemented
        return self._joined(that, _different(self.prop, that.prop))

    def negated(self) -> SymBool:
        """`not self`, which in Python itself needs to know."""
        return self.operations.boolean(self.prop.negation, self.domain)

    def _boolean(self, other: object, operation: str) -> SymBool | None:
        if type(other) is SymBool:
            self.operations.same(other.operations, operation)
            return other
        if type(other) is bool:
            interner = self.operations.interner
            return self.operations.boolean(interner.true if other else interner.false, interner.true)
        return None

    def _joined(self, other: SymBool, prop: Prop) -> SymBool:
        """Both operands are evaluated, so both have to make sense."""
        return self.operations.boolean(prop, self.operations.both(self.domain, other.domain))

    # ------------------------------------------------------------------ as 0 or 1

    @property
    def integer(self) -> SymInt:
        """1 where it holds, 0 where it does not."""
        interner = self.operations.interner
        return self.operations.integer(interner.ite(self.prop, interner.one, interner.zero), self.domain)

    def __add__(self, other: int | SymInt | SymBool) -> SymInt:
        return self.integer + other

    def __radd__(self, other: int) -> SymInt:
        return other + self.integer

    def __sub__(self, other: int | SymInt | SymBool) -> SymInt:
        return self.integer - other

    def __rsub__(self, other: int) -> SymInt:
        return other - self.integer

    def __mul__(self, other: int | SymInt | SymBool) -> SymInt:
        return self.integer * other

    def __rmul__(self, other: int) -> SymInt:
        return other * self.integer

    def __floordiv__(self, other: int | SymInt | SymBool) -> SymInt:
        return self.integer // other

    def __rfloordiv__(self, other: int) -> SymInt:
        return other // self.integer

    def __mod__(self, other: int | SymInt | SymBool) -> SymInt:
        return self.integer % other

    def __rmod__(self, other: int) -> SymInt:
        return other % self.integer

    def __divmod__(self, other: int | SymInt | SymBool) -> tuple[SymInt, SymInt]:
        return divmod(self.integer, other)

    def __rdivmod__(self, other: int) -> tuple[SymInt, SymInt]:
        return divmod(other, self.integer)

    def __truediv__(self, other: int | SymInt | SymBool) -> SymFloat:
        return self.integer / other

    def __rtruediv__(self, other: int) -> SymFloat:
        return other / self.integer

    def __pow__(self, other: int, modulus: int | None = None, /) -> SymInt | SymFloat:
        return self.integer.__pow__(other) if modulus is None else self.integer.__pow__(other, modulus)

    def __rpow__(self, other: int, modulus: int | None = None, /) -> SymInt | SymFloat:
        return self.integer.__rpow__(other, modulus)

    def __lshift__(self, other: int | SymInt) -> SymInt:
        return self.integer << other

    def __rlshift__(self, other: int) -> SymInt:
        return other << self.integer

    def __rshift__(self, other: int | SymInt) -> SymInt:
        return self.integer >> other

    def __rrshift__(self, other: int) -> SymInt:
        return other >> self.integer

    def __lt__(self, other: int | SymInt | SymBool) -> SymBool:
        return self.integer < other

    def __le__(self, other: int | SymInt | SymBool) -> SymBool:
        return self.integer <= other

    def __gt__(self, other: int | SymInt | SymBool) -> SymBool:
        return self.integer > other

    def __ge__(self, other: int | SymInt | SymBool) -> SymBool:
        return self.integer >= other

    def __neg__(self) -> SymInt:
        return -self.integer

    def __pos__(self) -> SymInt:
        return self.integer

    def __abs__(self) -> SymInt:
        return self.integer

    def __invert__(self) -> SymInt:
        """-1 or -2, as for a bool; `sym_not` negates."""
        return ~self.integer

    # ------------------------------------------------------------------ showing, copying

    def __str__(self) -> str:
        kind = self.prop.kind
        return str(kind == "true") if kind in ("true", "false") else str(self.prop)

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[bool], tuple[bool]]:
        if self.is_constant:
            return bool, (self.prop.kind == "true",)
        unpicklable(self)


def _different(p: Prop, q: Prop) -> Prop:
    interner = p.interner
    one, other = (p, q.negation), (p.negation, q)
    return interner.disjunction((interner.conjunction(one), interner.conjunction(other)))


def _is_number(value: object) -> TypeGuard[int | float | SymInt]:
    """Whether it is one that an integer is compared with."""
    return isinstance(value, int | float) or (isinstance(value, Symbolic) and value.kind == "int")
