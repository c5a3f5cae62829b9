"""The state of symbolic numbers: an environment, a domain, and an expression, a proposition or a float program.

    >>> from shapes import ShapeEnv
    >>> s = ShapeEnv(origin=lambda: None).symbol("s")
    >>> s.kind, (s > 8).kind, (s * 0.5).kind
    ('int', 'bool', 'float')
    >>> import copy
    >>> copy.deepcopy(s) is s
    True

The operators (`shapes.symbolic.operators`) know their operands by these classes, which have none. `SymInt`, `SymBool`
and `SymFloat` (`shapes.symbolic.numbers`) have them all, and give each other.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, NoReturn, Self

from shapes.symbolic.operations import Interning, Key, Operations, line
from solver.floats.values import Float
from solver.syntax.defined import readable_text
from solver.terms.expr import Expr
from solver.terms.prop import Prop

Kind = Literal["int", "bool", "float"]


class Symbolic:
    """A number over sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ("domain", "env", "operations")

    kind: ClassVar[Kind]
    """The type of Python that it stands for."""

    env: Interning
    domain: Prop
    operations: Operations[Interning, Integer, Boolean, Real]

    def __repr__(self) -> str:
        return str(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Integer(Symbolic):
    __slots__ = ("expr", "key", "memo")

    expr: Expr
    key: int
    memo: dict[Key, object]

    @abstractmethod
    def _value(self, why: str) -> int:
        """The value, where Python needs one."""

    def __int__(self) -> int:
        return self._value("int()")

    def __index__(self) -> int:
        return self._value("an index, a slice, range() or a length")

    def __float__(self) -> float:
        return float(self._value("float()"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()"))

    def bit_count(self) -> int:
        return self._value("bit_count()").bit_count()

    def to_bytes(self, length: int = 1, byteorder: str = "big", *, signed: bool = False) -> bytes:
        return self._value("to_bytes()").to_bytes(length, "little" if byteorder == "little" else "big", signed=signed)

    def __pos__(self) -> Self:
        return self

    __trunc__ = __floor__ = __ceil__ = conjugate = __pos__

    @property
    def real(self) -> Self:
        return self

    numerator = real

    @property
    def imag(self) -> int:
        return 0

    @property
    def denominator(self) -> int:
        return 1

    def as_integer_ratio(self) -> tuple[Self, int]:
        return self, 1

    def is_integer(self) -> bool:
        return True

    def __hash__(self) -> int:
        if self.expr.is_constant:
            return hash(self.expr.constant)
        raise TypeError(f"unhashable: `{self}` is symbolic; int() of it specializes{line()}")

    def __str__(self) -> str:
        return readable_text(self.expr, self.domain)

    def __format__(self, spec: str) -> str:
        return format(self._value(f"the format {spec!r}"), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        if self.expr.is_constant and self.domain is self.operations.true:
            return int, (self.expr.constant,)
        unpicklable(self)


class Boolean(Symbolic):
    __slots__ = ("prop",)

    prop: Prop

    @property
    def is_constant(self) -> bool:
        return self.prop.kind in ("true", "false") and self.domain is self.operations.true

    def __int__(self) -> int:
        return int(bool(self))

    __index__ = __int__

    def __float__(self) -> float:
        return float(bool(self))

    def __complex__(self) -> complex:
        return complex(bool(self))

    def __hash__(self) -> int:
        if self.is_constant:
            return hash(self.prop.kind == "true")
        raise TypeError(f"unhashable: `{self}` is symbolic; bool() of it guards{line()}")

    def __str__(self) -> str:
        kind = self.prop.kind
        return str(kind == "true") if kind in ("true", "false") else readable_text(self.prop, self.domain)

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[bool], tuple[bool]]:
        if self.is_constant:
            return bool, (self.prop.kind == "true",)
        unpicklable(self)


class Real(Symbolic):
    __slots__ = ("value",)

    value: Float

    @abstractmethod
    def __float__(self) -> float:
        """The value this time, as a guard on it."""

    def __complex__(self) -> complex:
        return complex(float(self))

    def as_integer_ratio(self) -> tuple[int, int]:
        return float(self).as_integer_ratio()

    def hex(self) -> str:
        return float(self).hex()

    def __pos__(self) -> Self:
        return self

    conjugate = __pos__

    @property
    def real(self) -> Self:
        return self

    @property
    def imag(self) -> float:
        return 0.0

    def __hash__(self) -> int:
        if self.value.value is not None:
            return hash(self.value.value)
        raise TypeError(f"unhashable: `{self}` is symbolic; float() of it specializes{line()}")

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        if self.value.value is not None:
            return float, (self.value.value,)
        unpicklable(self)


def as_integer(value: Integer | Boolean) -> Integer:
    """A boolean counts as 0 or 1."""
    return value if isinstance(value, Integer) else value.operations.indicator(value.prop, value.domain)


def as_real(value: Integer | Boolean | Real) -> Real:
    """`float(value)`, without forcing the value."""
    if isinstance(value, Real):
        return value
    size = as_integer(value)
    return size.operations.convert(size.key, size.expr, size.domain)


def unpicklable(value: Symbolic) -> NoReturn:
    raise TypeError(f"cannot pickle `{value}`: it belongs to an environment; save that with `env.save`{line()}")
