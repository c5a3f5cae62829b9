"""Float values of integer expressions, as IEEE doubles: never real arithmetic.

    >>> from solver import floats
    >>> from solver.expr import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> share = floats.multiply(floats.constant(terms, 0.29), floats.convert(s))
    >>> share.text, share.arguments == (s,)
    ('0.29*float({0})', True)
    >>> floats.trunc(share).evaluate({next(iter(s.symbols)): 100})     # 29 in real arithmetic
    28
    >>> floats.compare(">=", share, floats.constant(terms, 28.5)) is terms.ge(s, 99)
    True

A float value is a small program over integer arguments. It meets the engine where it becomes an integer again: a
rounding is one opaque function of the arguments (see `solver.float_programs`), and so is a comparison of
two values that does not reduce to integers. A monotone program of one argument, compared with a constant, is a bound of
the argument, found by bisection over the doubles.

`domain` says where Python raises nothing: no conversion overflows, no divisor is zero, no root is of a negative number.
(For a quotient of integers it asks that the numerator fits a double, a little more than Python does.)
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from solver.errors import NotExpressible
from solver.expr import Expr, Interner
from solver.float_programs import Program, double, program, round_by
from solver.float_ranges import MAX, OVERFLOW
from solver.functions import Threshold

if TYPE_CHECKING:
    from solver.prop import Prop

_PLACE: Final = re.compile(r"\{(\d+)\}")
_SUM, _PRODUCT, _SIGN, _POWER, _VALUE = range(1, 6)
_LEVELS: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "**": _POWER}
_MIRRORED: Final = {"<": ">", "<=": ">="}


class Float:
    """A float value: `text` with `{i}` for the i-th of `arguments`; `value` where it is a constant."""

    __slots__ = ("arguments", "domain", "interner", "level", "text", "value")

    def __init__(
        self,
        interner: Interner,
        text: str,
        level: int,
        arguments: tuple[Expr, ...],
        domain: Prop,
        value: float | None = None,
    ) -> None:
        self.interner = interner
        self.text = text
        self.level = level
        self.arguments = arguments
        self.domain = domain
        self.value = value

    @property
    def program(self) -> Program:
        return program(self.text)

    def __str__(self) -> str:
        return self.text.format(*self.arguments)

    def __repr__(self) -> str:
        return f"<{self}>"


# ---------------------------------------------------------------------- construction


def constant(interner: Interner, value: float) -> Float:
    level = _VALUE if math.copysign(1.0, value) > 0 else _SIGN
    return Float(interner, repr(value), level, (), interner.true, value)


def convert(e: Expr) -> Float:
    """`float(e)`.

    Raises:
        OverflowError: e is a constant too large for a double.
    """
    interner = e.interner
    if e.is_constant:
        return constant(interner, float(e.constant))
    return Float(interner, "float({0})", _VALUE, (e,), _convertible(e))


def from_pattern(bits: Expr) -> Float:
    """The double whose 64 bits, read as an integer, are `bits`: a float of which nothing else is known."""
    interner = bits.interner
    if bits.is_constant:
        return constant(interner, double(bits.constant))
    domain = interner.conjunction([interner.ge(bits, 0), interner.lt(bits, 2**64)])
    return Float(interner, "double({0})", _VALUE, (bits,), domain)


def quotient(n: Expr, d: Expr) -> Float:
    """`n / d` of integers, which Python rounds once.

    Raises:
        ZeroDivisionError: d is the constant 0.
    """
    interner = n.interner
    if d.is_constant:
        if n.is_constant or d.constant == 0:
            return constant(interner, n.constant / d.constant)
        return Float(interner, f"truediv({{0}}, {d.constant})", _VALUE, (n,), _convertible(n))
    nonzero = interner.ne(d, 0)
    if n.is_constant:
        float(n.constant)
        return Float(interner, f"truediv({n.constant}, {{0}})", _VALUE, (d,), nonzero)
    if n is d:
        return Float(interner, "truediv({0}, {0})", _VALUE, (n,), interner.conjunction([nonzero, _convertible(n)]))
    return Float(interner, "truediv({0}, {1})", _VALUE, (n, d), interner.conjunction([nonzero, _convertible(n)]))


def _convertible(e: Expr) -> Prop:
    interner = e.interner
    return interner.conjunction([interner.gt(e, -OVERFLOW), interner.lt(e, OVERFLOW)])


def add(a: Float, b: Float) -> Float:
    if a.value is not None and b.value is not None:
        return constant(a.interner, a.value + b.value)
    return _combine("+", b, a) if a.value is not None else _combine("+", a, b)


def subtract(a: Float, b: Float) -> Float:
    if a.value is not None and b.value is not None:
        return constant(a.interner, a.value - b.value)
    return _combine("-", a, b)


def multiply(a: Float, b: Float) -> Float:
    if a.value is not None and b.value is not None:
        return constant(a.interner, a.value * b.value)
    if b.value is not None:
        a, b = b, a
    return b if a.value == 1.0 else _combine("*", a, b)


def divide(a: Float, b: Float) -> Float:
    """`a / b` of floats.

    Raises:
        ZeroDivisionError: b is the constant 0.0.
    """
    if b.value is not None and (a.value is not None or b.value == 0.0):
        return constant(a.interner, (a.value or 0.0) / b.value)
    return a if b.value == 1.0 else _combine("/", a, b, nonzero(b))


def floordiv(a: Float, b: Float) -> Float:
    """`a // b` of floats, a float.

    Raises:
        ZeroDivisionError: b is the constant 0.0.
    """
    if b.value is not None and (a.value is not None or b.value == 0.0):
        return constant(a.interner, (a.value or 0.0) // b.value)
    return _combine("//", a, b, nonzero(b))


def remainder(a: Float, b: Float) -> Float:
    """`a % b` of floats.

    Raises:
        ZeroDivisionError: b is the constant 0.0.
    """
    if b.value is not None and (a.value is not None or b.value == 0.0):
        return constant(a.interner, (a.value or 0.0) % b.value)
    return _combine("%", a, b, nonzero(b))


def power(a: Float, b: Float) -> Float:
    """`a ** b`; a result that is not a real number is outside the domain.

    Raises:
        NotExpressible: the result is a constant complex number.
    """
    if a.value is not None and b.value is not None:
        value = a.value**b.value
        if isinstance(value, complex):
            raise NotExpressible(f"{a.value} ** {b.value} is a complex number")
        return constant(a.interner, value)
    if b.value == 1.0:
        return a
    raised = _combine("**", a, b)
    if b.value == 0.5:  # never overflows
        raised.domain = a.interner.conjunction([raised.domain, at_least_zero(a)])
        return raised
    defined = a.interner.function(f"int(-inf < {raised.text} < inf)", *raised.arguments)
    raised.domain = a.interner.conjunction([raised.domain, a.interner.ge(defined, 1)])
    return raised


def negate(a: Float) -> Float:
    if a.value is not None:
        return constant(a.interner, -a.value)
    return Float(a.interner, "-" + _at_level(a.text, a.level, _SIGN), _SIGN, a.arguments, a.domain)


def absolute(a: Float) -> Float:
    if a.value is not None:
        return constant(a.interner, abs(a.value))
    return Float(a.interner, f"abs({a.text})", _VALUE, a.arguments, a.domain)


def square_root(a: Float) -> Float:
    """`sqrt(a)`, correctly rounded.

    Raises:
        ValueError: a is a negative constant.
    """
    if a.value is not None:
        return constant(a.interner, math.sqrt(a.value))
    domain = a.interner.conjunction([a.domain, at_least_zero(a)])
    return Float(a.interner, f"sqrt({a.text})", _VALUE, a.arguments, domain)


def round_to(a: Float, digits: int) -> Float:
    """`round(a, digits)`, a float."""
    if a.value is not None:
        return constant(a.interner, round(a.value, digits))
    return Float(a.interner, f"round({a.text}, {digits})", _VALUE, a.arguments, finite(a))


def choose(p: Prop, a: Float, b: Float) -> Float:
    """`a if p else b`; only the value taken has to make sense."""
    interner = p.interner
    if p.kind in ("true", "false"):
        return a if p.kind == "true" else b
    places = _Places(())
    test = places.of(interner.ite(p, interner.one, interner.zero))
    text = f"({places.text(a)} if ({test}) > 0 else {places.text(b)})"
    domain = interner.conjunction([interner.disjunction([p.negation, a.domain]), interner.disjunction([p, b.domain])])
    return Float(interner, text, _VALUE, tuple(places.arguments), domain)


class _Places:
    """Where each integer argument stands in a text that is put together from several."""

    def __init__(self, arguments: tuple[Expr, ...]) -> None:
        self.arguments = list(arguments)

    def of(self, e: Expr) -> str:
        if e not in self.arguments:
            self.arguments.append(e)
        return f"{{{self.arguments.index(e)}}}"

    def text(self, a: Float) -> str:
        arguments = a.arguments
        if tuple(self.arguments[: len(arguments)]) == arguments:
            return a.text
        return _PLACE.sub(lambda place: self.of(arguments[int(place[1])]), a.text)


def _combine(operation: str, a: Float, b: Float, *obligations: Prop) -> Float:
    """The operation as a program, with the parentheses that Python needs."""
    level = _LEVELS[operation]
    places = _Places(a.arguments)
    left = _at_level(a.text, a.level, level if operation != "**" else level + 1)
    right = _at_level(places.text(b), b.level, level + 1 if operation != "**" else _SIGN)
    text = f"{left} {operation} {right}" if level == _SUM else f"{left}{operation}{right}"
    domain = a.domain
    if obligations or b.domain is not domain:
        domain = a.interner.conjunction([a.domain, b.domain, *obligations])
    return Float(a.interner, text, level, tuple(places.arguments), domain)


def _at_level(text: str, level: int, needed: int) -> str:
    return text if level >= needed else f"({text})"


# ---------------------------------------------------------------------- back to integers


def floor(a: Float) -> Expr:
    """The largest integer at most a. Defined where `finite(a)` holds, as `ceil`, `trunc` and `round_half_even` are."""
    return _rounded("floor", a)


def ceil(a: Float) -> Expr:
    return _rounded("ceil", a)


def trunc(a: Float) -> Expr:
    """Towards zero, as `int(a)` does."""
    return _rounded("trunc", a)


def round_half_even(a: Float) -> Expr:
    """Python's `round(a)`."""
    return _rounded("round", a)


def _rounded(name: str, a: Float) -> Expr:
    if a.value is not None:
        return a.interner.constant(round_by(name, a.value))
    return a.interner.function(f"{name}({a.text})", *a.arguments)


def finite(a: Float) -> Prop:
    """Where a is defined and neither infinite nor a NaN, so that it has a rounding."""
    interner = a.interner
    if a.value is not None:
        return interner.true if math.isfinite(a.value) else interner.false
    if _always_finite(a):
        return a.domain
    within = [compare("<=", a, constant(interner, MAX)), compare(">=", a, constant(interner, -MAX))]
    return interner.conjunction([a.domain, *within])


def _always_finite(a: Float) -> bool:
    """Whether no value in the domain is infinite or a NaN, whatever the arguments."""
    return a.program.range(*[(None, None)] * len(a.arguments)).finite


def at_least_zero(a: Float) -> Prop:
    return compare(">=", a, constant(a.interner, 0.0))


def nonzero(a: Float) -> Prop:
    return compare("!=", a, constant(a.interner, 0.0))


def compare(operation: str, a: Float | Expr, b: Float | Expr) -> Prop:
    """`a < b` and the like; integers are compared exactly, without conversion, as Python does.

    It makes sense where the domains of both do.
    """
    if operation == "!=":
        return compare("==", a, b).negation
    if operation in _MIRRORED:
        return compare(_MIRRORED[operation], b, a)
    if isinstance(b, Expr):
        if isinstance(a, Expr):
            return {">=": a.interner.ge, ">": a.interner.gt, "==": a.interner.eq}[operation](a, b)
        if b.is_constant:
            return _float_against(operation, a, b.constant)
        return _integer_against(operation, b, a, below=True)
    if isinstance(a, Expr):
        if a.is_constant:
            return _float_below(operation, a.constant, b)
        return _integer_against(operation, a, b, below=False)
    if b.value is not None:
        return _float_against(operation, a, b.value)
    if a.value is not None:
        return _float_below(operation, a.value, b)
    return _opaque(operation, a, b)


def _float_against(operation: str, a: Float, c: float) -> Prop:
    """`a >= c`, `a > c` or `a == c` for a constant c (an int is compared exactly)."""
    interner = a.interner
    if c != c:  # a NaN
        return interner.false
    if a.value is not None:
        holds = a.value >= c if operation == ">=" else a.value > c if operation == ">" else a.value == c
        return interner.true if holds else interner.false
    least, above = a.program.least(lambda x: x >= c), a.program.least(lambda x: x > c)
    if least is not None and above is not None:
        at_least, more = _bound(a.arguments[0], least), _bound(a.arguments[0], above)
        if operation == "==":
            return interner.conjunction([at_least, more.negation])
        return at_least if operation == ">=" else more
    if (isinstance(c, int) or c.is_integer()) and operation != "==" and _always_finite(a):
        return interner.ge(floor(a), math.floor(c)) if operation == ">=" else interner.gt(ceil(a), math.floor(c))
    return _opaque(operation, a, constant(interner, c) if isinstance(c, float) else interner.constant(c))


def _float_below(operation: str, c: float, a: Float) -> Prop:
    """`c >= a`, `c > a` or `c == a`."""
    if operation == "==":
        return _float_against("==", a, c)
    if c != c:  # a NaN
        return a.interner.false
    if a.value is None and a.program.range(*[(None, None)] * len(a.arguments)).nan:
        return _opaque(operation, constant(a.interner, c) if isinstance(c, float) else a.interner.constant(c), a)
    return _float_against(">" if operation == ">=" else ">=", a, c).negation


def _bound(e: Expr, threshold: Threshold | bool) -> Prop:
    interner = e.interner
    if isinstance(threshold, bool):
        return interner.true if threshold else interner.false
    return interner.ge(e, threshold.at) if threshold.rising else interner.le(e, threshold.at)


def _integer_against(operation: str, e: Expr, x: Float, *, below: bool) -> Prop:
    """`e op x`, or `x op e` if below, by the roundings of x where it has them."""
    interner = e.interner
    if x.value is None:
        if not _always_finite(x):
            return _opaque(operation, x, e) if below else _opaque(operation, e, x)
    elif not math.isfinite(x.value):
        infinite = x.value > 0 if below else x.value < 0
        return interner.true if infinite and operation != "==" else interner.false
    match operation, below:
        case ">=", True:
            return interner.ge(floor(x), e)
        case ">", True:
            return interner.gt(ceil(x), e)
        case ">=", False:
            return interner.ge(e, ceil(x))
        case ">", False:
            return interner.gt(e, floor(x))
        case _:
            return interner.conjunction([interner.eq(e, floor(x)), interner.eq(e, ceil(x))])


def _opaque(operation: str, a: Float | Expr, b: Float | Expr) -> Prop:
    """The comparison as one opaque function with the values 0 and 1."""
    places = _Places(())
    sides = [places.text(side) if isinstance(side, Float) else f"({places.of(side)})" for side in (a, b)]
    interner = a.interner
    return interner.ge(interner.function(f"int({sides[0]} {operation} {sides[1]})", *places.arguments), 1)
