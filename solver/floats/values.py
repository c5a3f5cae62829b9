"""Float values of integer expressions: IEEE doubles, not reals.

    >>> from solver.floats import values as floats
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> share = floats.multiply(floats.constant(terms, 0.29), floats.convert(s))
    >>> share.text, share.arguments == (s,)
    ('0.29*float({0})', True)
    >>> floats.trunc(share).evaluate({next(iter(s.symbols)): 100})     # 29 in real arithmetic
    28
    >>> floats.compare(">=", share, floats.constant(terms, 28.5)) is terms.ge(s, 99)
    True

A float value is a small program over integer arguments. The engine sees it where it becomes an integer again: a
rounding is one opaque function of the arguments (see `solver.floats.programs`), and so is a comparison of
two values that does not reduce to integers. A monotone program of one argument, compared with a constant, is a bound of
the argument, found by bisection over the doubles.

`domain` says where Python raises nothing: no conversion overflows, no divisor is zero, no root is of a negative number.
NaNs and infinities are values: `sqrt(nan)`, `round(inf, 2)` and `nan**0.5` are defined.
(For a quotient of integers it asks that the numerator fits a double, a little more than Python does.)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from solver.errors import NotExpressible
from solver.floats import ordinals as float_ordinals
from solver.floats.order import (
    ceil,
    compare,
    finite,
    floor,
    nonzero,
    not_a_number,
    not_negative,
    ordinal,
    pattern_of,
    round_half_even,
    trunc,
)
from solver.floats.ranges import OVERFLOW
from solver.floats.value import LEVELS, PRODUCT, SIGN, SUM, VALUE, Float, Places, constant
from solver.terms.choice import ite
from solver.terms.expr import Expr
from solver.terms.functions import function
from solver.terms.prop import Prop

__all__ = [
    "Float",
    "constant",
    "convert",
    "quotient",
    "from_pattern",
    "from_ordinal",
    "ordinal",
    "add",
    "subtract",
    "multiply",
    "divide",
    "floordiv",
    "remainder",
    "power",
    "negate",
    "absolute",
    "square_root",
    "round_to",
    "choose",
    "floor",
    "ceil",
    "trunc",
    "round_half_even",
    "computes",
    "finite",
    "compare",
    "nonzero",
    "not_a_number",
    "not_negative",
]


def convert(e: Expr) -> Float:
    """`float(e)`.

    Raises:
        OverflowError: e is a constant too large for a double.
    """
    interner = e.interner
    if e.is_constant:
        return constant(interner, float(e.constant))
    return Float(interner, "float({0})", VALUE, (e,), _convertible(e))


def from_pattern(bits: Expr) -> Float:
    """The double whose 64 bits, read as an integer, are `bits`: an opaque float."""
    interner = bits.interner
    if bits.is_constant:
        if not 0 <= bits.constant < 2**64:
            raise NotExpressible("`double` takes the 64 bits of a double, an integer from 0 to 2**64 - 1")
        return constant(interner, float_ordinals.double(bits.constant))
    domain = Prop.join(interner, "and", [Prop.ge(bits, 0), Prop.lt(bits, 2**64)])
    return Float(interner, "double({0})", VALUE, (bits,), domain)


def from_ordinal(e: Expr) -> Float:
    """The double with this place in the order of doubles (see `solver.floats.ordinals`)."""
    interner = e.interner
    if e.is_constant:
        return constant(interner, float_ordinals.from_ordinal(e.constant))
    bits = pattern_of(e)
    if bits is not None:
        return from_pattern(bits)
    return Float(interner, "from_ordinal({0})", VALUE, (e,), Prop.truth(interner, True))


def quotient(n: Expr, d: Expr) -> Float:
    """`n / d` of integers, which Python rounds once.

    Raises:
        ZeroDivisionError: d is the constant 0.
    """
    interner = n.interner
    if d.is_constant:
        if n.is_constant or d.constant == 0:
            return constant(interner, n.constant / d.constant)
        return Float(interner, f"truediv({{0}}, {d.constant})", VALUE, (n,), _convertible(n))
    nonzero = Prop.ne(d, 0)
    if n.is_constant:
        float(n.constant)
        return Float(interner, f"truediv({n.constant}, {{0}})", VALUE, (d,), nonzero)
    if n is d:
        return Float(interner, "truediv({0}, {0})", VALUE, (n,), Prop.join(interner, "and", [nonzero, _convertible(n)]))
    return Float(interner, "truediv({0}, {1})", VALUE, (n, d), Prop.join(interner, "and", [nonzero, _convertible(n)]))


def _convertible(e: Expr) -> Prop:
    interner = e.interner
    return Prop.join(interner, "and", [Prop.gt(e, -OVERFLOW), Prop.lt(e, OVERFLOW)])


def add(a: Float, b: Float) -> Float:
    if a.value is not None and b.value is not None:
        return constant(a.interner, a.value + b.value)
    if a.value is not None:
        a, b = b, a
    return _combine("-", a, negate(b)) if b.is_negated else _combine("+", a, b)


def subtract(a: Float, b: Float) -> Float:
    return add(a, negate(b))


def multiply(a: Float, b: Float) -> Float:
    if a.value is not None and b.value is not None:
        return constant(a.interner, a.value * b.value)
    if b.value is not None:
        a, b = b, a
    if a.is_negated or b.is_negated:
        return _signed(multiply, a, b)
    return b if a.value == 1.0 else _combine("*", a, b)


def _signed(operation: Callable[[Float, Float], Float], a: Float, b: Float) -> Float:
    """A product or quotient with its sign in front."""
    magnitude = operation(negate(a) if a.is_negated else a, negate(b) if b.is_negated else b)
    return magnitude if a.is_negated == b.is_negated else negate(magnitude)


def divide(a: Float, b: Float) -> Float:
    """`a / b` of floats.

    Raises:
        ZeroDivisionError: b is the constant 0.0.
    """
    if b.value is not None and (a.value is not None or b.value == 0.0):
        return constant(a.interner, (a.value or 0.0) / b.value)
    if a.is_negated or b.is_negated:
        return _signed(divide, a, b)
    return a if b.value == 1.0 else _combine("/", a, b, nonzero(b))


def floordiv(a: Float, b: Float) -> Float:
    """`a // b` of floats, a float.

    Raises:
        ZeroDivisionError: b is the constant 0.0.
    """
    return _floor_divided("//", operator.floordiv, a, b)


def remainder(a: Float, b: Float) -> Float:
    """`a % b` of floats.

    Raises:
        ZeroDivisionError: b is the constant 0.0.
    """
    return _floor_divided("%", operator.mod, a, b)


def _floor_divided(sign: str, compute: Callable[[float, float], float], a: Float, b: Float) -> Float:
    if b.value is not None and (a.value is not None or b.value == 0.0):
        return constant(a.interner, compute(a.value or 0.0, b.value))
    return _combine(sign, a, b, nonzero(b))


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
    if b.value == 0.5:  # never overflows; `(-inf)**0.5` is inf
        infinite = compare("==", a, constant(a.interner, -math.inf))
        real = Prop.join(a.interner, "or", [not_negative(a), infinite])
    else:
        real = Prop.ge(computes(raised), 1)
    raised.domain = Prop.join(a.interner, "and", [raised.domain, real])
    return raised


def negate(a: Float) -> Float:
    if a.value is not None:
        return constant(a.interner, -a.value)
    if a.opposite is not None:
        return a.opposite
    if a.is_negated:
        text = a.text[1:]
    else:
        text = f"-({a.text})" if a.level == SUM else "-" + a.text
    negated = Float(a.interner, text, PRODUCT if a.level == PRODUCT else SIGN, a.arguments, a.domain)
    negated.opposite = a
    return negated


def absolute(a: Float) -> Float:
    if a.value is not None:
        return constant(a.interner, abs(a.value))
    return Float(a.interner, f"abs({a.text})", VALUE, a.arguments, a.domain)


def square_root(a: Float) -> Float:
    """`sqrt(a)`, correctly rounded.

    Raises:
        ValueError: a is a negative constant.
    """
    if a.value is not None:
        return constant(a.interner, math.sqrt(a.value))
    domain = Prop.join(a.interner, "and", [a.domain, not_negative(a)])
    return Float(a.interner, f"sqrt({a.text})", VALUE, a.arguments, domain)


def round_to(a: Float, digits: int) -> Float:
    """`round(a, digits)`, a float."""
    if a.value is not None:
        return constant(a.interner, round(a.value, digits))
    domain, text = a.domain, f"round({a.text}, {digits})"
    if digits < 0:  # the largest doubles are rounded beyond all doubles
        rounds = Prop.ge(computes(Float(a.interner, text, VALUE, a.arguments, domain)), 1)
        domain = Prop.join(a.interner, "and", [domain, rounds])
    return Float(a.interner, text, VALUE, a.arguments, domain)


def computes(a: Float) -> Expr:
    """1 where Python computes the value (also a NaN), 0 where it raises an error; defined everywhere."""
    if a.value is not None:
        return a.interner.one
    return a.interner.apply(function(f"computes({a.text})"), *a.arguments)


def choose(p: Prop, a: Float, b: Float) -> Float:
    """`a if p else b`; only the chosen value needs to be defined."""
    interner = p.interner
    p = _condition(p)
    if p.kind in ("true", "false"):
        return a if p.kind == "true" else b
    places = Places(())
    test = places.of(ite(interner, p, interner.one, interner.zero))
    text = f"({places.text(a)} if ({test}) > 0 else {places.text(b)})"
    domains = [Prop.join(interner, "or", [p.negation, a.domain]), Prop.join(interner, "or", [p, b.domain])]
    return Float(interner, text, VALUE, tuple(places.arguments), Prop.join(interner, "and", domains))


def _condition(p: Prop) -> Prop:
    """The proposition q where p is `(1 if q else 0) > 0`, as the text of a choice has it."""
    if p.kind == "ge" and len(p.expr.terms) == 1:
        atoms = p.interner.monomials[p.expr.terms[0][0]]
        coefficients = (p.expr.terms[0][1], p.expr.constant)
        if len(atoms) == 1 and atoms[0].kind == "ite" and atoms[0].args[1] is p.interner.one:
            test = atoms[0].args[0]
            if isinstance(test, Prop) and coefficients in ((1, -1), (-1, 0)):
                return test if coefficients == (1, -1) else test.negation
    return p


def _combine(operation: str, a: Float, b: Float, *obligations: Prop) -> Float:
    """The operation as a program, with the parentheses that Python needs."""
    level = LEVELS[operation]
    places = Places(a.arguments)
    left = _at_level(a.text, a.level, level if operation != "**" else level + 1)
    right = _at_level(places.text(b), b.level, level + 1 if operation != "**" else SIGN)
    text = f"{left} {operation} {right}" if level == SUM else f"{left}{operation}{right}"
    if operation in ("//", "%"):
        text, level = f"({text})", VALUE
    domain = a.domain
    if obligations or b.domain is not domain:
        domain = Prop.join(a.interner, "and", [a.domain, b.domain, *obligations])
    return Float(a.interner, text, level, tuple(places.arguments), domain)


def _at_level(text: str, level: int, needed: int) -> str:
    return text if level >= needed else f"({text})"
