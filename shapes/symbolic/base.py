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

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, Self, cast

from shapes.accepted import by_name, whole_number
from shapes.errors import Undefined
from shapes.symbolic.by_name import Named, atoms_of, check_defined, whole_numbers
from shapes.symbolic.operations import Interning, Key, Operations, line
from solver.errors import NotExpressible
from solver.floats.values import Float
from solver.syntax.short_text import with_names
from solver.terms.digest import digest, joined
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

Kind = Literal["int", "bool", "float"]

SPECIFICATION: Final = re.compile(
    r"(?:(.)?([<>=^]))?([-+ ]?z?#?)(0?)([1-9]\d*)?((?:[,_]|\.\d+|[bcdoxXneEfFgG%])*)", re.DOTALL
)
"""Fill, alignment, sign and form, a leading zero, width, and what only numbers have: grouping, precision, type."""


class Symbolic:
    """A number over sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ("domain", "env", "operations")

    kind: ClassVar[Kind]
    """The type of Python that it stands for."""

    env: Named
    domain: Prop
    operations: Operations[Interning, Integer, Boolean, Real]

    def __repr__(self) -> str:
        return str(self)

    def _images(self, sizes: Mapping[str, object]) -> tuple[dict[Atom, Expr], Prop]:
        """The replacement of each symbol, and where all of them are defined."""
        images: dict[Atom, Expr] = {}
        domain = self.operations.true
        for atom, size in atoms_of(self.env, sizes).items():
            if isinstance(size, Integer | Boolean):
                number = as_integer(size)
                self.operations.same(number.operations, "substitute")
                images[atom] = number.expr
                domain = self.operations.both(domain, number.domain)
            else:
                images[atom] = self.operations.interner.constant(whole_number(atom.name, size))
        return images, self.operations.both(domain, self.domain.substitute(images))

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

    def substitute(self, sizes: Mapping[str, int | Integer] = {}, /, **named: int | Integer) -> Self | int:
        """The value with sizes in place of symbols, by name; an int where it is a constant.

        Raises:
            Undefined: it is undefined there.
        """
        images, domain = self._images(by_name("sizes", sizes, named))
        expr = self.expr.substitute(images)
        if domain.kind == "false":
            raise Undefined(f"`{self}` is undefined there: it needs `{self.domain}`")
        if expr.is_constant and domain.kind == "true":
            return expr.constant
        return cast(Self, self.operations.integer(expr, domain))

    def evaluate(self, sizes: Mapping[str, int] = {}, /, **named: int) -> int:
        """The value at these sizes, one for each symbol by name.

        Raises:
            Undefined: it is undefined there.
        """
        values = whole_numbers(self.env, by_name("sizes", sizes, named))
        check_defined(self, self.expr.symbols, self.domain, values)
        return self.expr.evaluate(values)

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
        from solver.syntax.defined import readable_text

        return with_names(readable_text(self.expr, self.domain), self.expr.interner.shown_names)

    def __format__(self, spec: str) -> str:
        known = self.expr.is_constant and self.domain is self.operations.true
        return format(self.expr.constant, spec) if known else formatted(str(self), spec)

    @property
    def fingerprint(self) -> str:
        """A key for caches that other processes read: a digest of the expression, symbols by name."""
        return joined(digest(self.expr), digest(self.domain)).hex()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """A constant as an int; everything else with its environment."""
        if self.expr.is_constant and self.domain is self.operations.true:
            return int, (self.expr.constant,)
        return type(self), (self.env, self.expr, self.domain)


class Boolean(Symbolic):
    __slots__ = ("prop",)

    prop: Prop

    @property
    def is_constant(self) -> bool:
        return self.prop.kind in ("true", "false") and self.domain is self.operations.true

    def substitute(self, sizes: Mapping[str, int | Integer] = {}, /, **named: int | Integer) -> Self | bool:
        """The proposition with sizes in place of symbols, by name; a bool where it is a constant.

        Raises:
            Undefined: it is undefined there.
        """
        images, domain = self._images(by_name("sizes", sizes, named))
        prop = self.prop.substitute(images)
        if domain.kind == "false":
            raise Undefined(f"`{self}` is undefined there: it needs `{self.domain}`")
        if prop.kind in ("true", "false") and domain.kind == "true":
            return prop.kind == "true"
        return cast(Self, self.operations.boolean(prop, domain))

    def evaluate(self, sizes: Mapping[str, int] = {}, /, **named: int) -> bool:
        """The truth at these sizes, one for each symbol by name.

        Raises:
            Undefined: it is undefined there.
        """
        values = whole_numbers(self.env, by_name("sizes", sizes, named))
        check_defined(self, self.prop.symbols, self.domain, values)
        return self.prop.evaluate(values)

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
        if kind in ("true", "false"):
            return str(kind == "true")
        from solver.syntax.defined import readable_text

        return with_names(readable_text(self.prop, self.domain), self.prop.interner.shown_names)

    def __format__(self, spec: str) -> str:
        return format(self.prop.kind == "true", spec) if self.is_constant else formatted(str(self), spec)

    @property
    def fingerprint(self) -> str:
        """A key for caches that other processes read: a digest of the proposition, symbols by name."""
        return joined(digest(self.prop), digest(self.domain)).hex()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """A constant as a bool; everything else with its environment."""
        if self.is_constant:
            return bool, (self.prop.kind == "true",)
        return type(self), (self.env, self.prop, self.domain)


class Real(Symbolic):
    __slots__ = ("value",)

    value: Float

    def substitute(self, sizes: Mapping[str, int | Integer] = {}, /, **named: int | Integer) -> Self | float:
        """The double with sizes in place of symbols, by name; a float where it is a constant.

        Raises:
            Undefined: it is undefined there.
        """
        from solver.floats.substitution import as_float  # loaded on demand, as few programs need it

        images, domain = self._images(by_name("sizes", sizes, named))
        value = self.value
        if value.arguments:
            try:
                value = as_float(value.program.node, [argument.substitute(images) for argument in value.arguments])
            except (ArithmeticError, ValueError, NotExpressible) as error:
                raise Undefined(f"`{self}` is undefined there: {error}") from None
        if domain.kind == "false":
            raise Undefined(f"`{self}` is undefined there: it needs `{self.domain}`")
        if value.value is not None and domain.kind == "true":
            return value.value
        return cast(Self, self.operations.real(value, domain))

    def evaluate(self, sizes: Mapping[str, int] = {}, /, **named: int) -> float:
        """The double at these sizes, one for each symbol by name.

        Raises:
            Undefined: it is undefined there.
        """
        values = whole_numbers(self.env, by_name("sizes", sizes, named))
        symbols = frozenset([atom for argument in self.value.arguments for atom in argument.symbols])
        check_defined(self, symbols, self.domain, values)
        return self.value.program.evaluate(*[argument.evaluate(values) for argument in self.value.arguments])

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
        return with_names(str(self.value), self.value.interner.shown_names)

    def __format__(self, spec: str) -> str:
        return formatted(str(self), spec) if self.value.value is None else format(self.value.value, spec)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """A constant as a float; everything else with its environment."""
        if self.value.value is not None:
            return float, (self.value.value,)
        return type(self), (self.env, self.value, self.domain)


def as_integer(value: Integer | Boolean) -> Integer:
    """A boolean counts as 0 or 1."""
    return value if isinstance(value, Integer) else value.operations.indicator(value.prop, value.domain)


def as_real(value: Integer | Boolean | Real) -> Real:
    """`float(value)`, without forcing the value."""
    if isinstance(value, Real):
        return value
    size = as_integer(value)
    return size.operations.convert(size.key, size.expr, size.domain)


def formatted(text: str, spec: str) -> str:
    """The text of an expression in the width of a format specification, which never asks for the value.

    A specification for numbers counts with its fill, alignment and width; numbers are at the right by default.
    """
    match = SPECIFICATION.fullmatch(spec)
    if match is None:
        return format(text, spec)
    fill, align, numeric, zero, width, kind = match.groups()
    is_number = bool(numeric or zero or kind)
    return format(text, f"{fill or ''}{(align or '').replace('=', '>') or ('>' if is_number else '')}{width or ''}")
