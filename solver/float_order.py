"""Float values back among the integers: roundings and comparisons.

    >>> from solver import floats
    >>> from solver.interner import Interner
    >>> terms = Interner()
    >>> s, t = terms.symbol("s"), terms.symbol("t")
    >>> half = floats.quotient(s, terms.constant(2))
    >>> floats.compare(">=", half, floats.constant(terms, 1.5)) is terms.ge(s, 3)
    True
    >>> floats.compare(">=", half, t) is terms.ge(floats.floor(half), t)
    True

A monotone program of one argument, compared with a constant, is a bound of the argument. An integer is compared with
the rounding of a float. What remains is one opaque function with the values 0 and 1.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from solver.expr import Expr
from solver.float_programs import program, round_by
from solver.float_ranges import MAX
from solver.float_value import Float, Places, constant
from solver.functions import Threshold

if TYPE_CHECKING:
    from solver.prop import Prop

_MIRRORED: Final = {"<": ">", "<=": ">="}


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
    least, above = _threshold(a.text, c, strict=False), _threshold(a.text, c, strict=True)
    if least is not None and above is not None:
        at_least, more = _bound(a.arguments[0], least), _bound(a.arguments[0], above)
        if operation == "==":
            return interner.conjunction([at_least, more.negation])
        return at_least if operation == ">=" else more
    if (isinstance(c, int) or c.is_integer()) and operation != "==" and _always_finite(a):
        return interner.ge(floor(a), math.floor(c)) if operation == ">=" else interner.gt(ceil(a), math.floor(c))
    return _opaque(operation, a, constant(interner, c) if isinstance(c, float) else interner.constant(c))


@lru_cache(maxsize=4096)
def _threshold(text: str, c: float, *, strict: bool) -> Threshold | bool | None:
    """Where the program with this text reaches c, or passes it."""
    return program(text).least(lambda x: x > c if strict else x >= c)


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
    places = Places(())
    sides = [places.text(side) if isinstance(side, Float) else f"({places.of(side)})" for side in (a, b)]
    interner = a.interner
    return interner.ge(interner.function(f"int({sides[0]} {operation} {sides[1]})", *places.arguments), 1)
