"""Real values as they occur in recorded sessions: exact quotients of integer expressions.

A recorded session reads `0.6` as the rational 3/5 and `truediv(a, b)` as a/b; rounding brings both back to integers
exactly:

    >>> from solver.terms.interner import Interner
    >>> from solver.floats.quotients import Ratio, floor
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> floor(Ratio(3 * s, terms.constant(5))) is (3 * s) // 5
    True

Square roots are kept as `root` of a quotient, and may be compared with a quotient or rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from solver.errors import NotExpressible
from solver.terms.choice import ite
from solver.terms.expr import Expr, TermTable
from solver.terms.functions import function
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop

LONGEST_DECIMAL: Final = 4000
"""Digits that a decimal literal may have, written out."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """`numerator / denominator`, the denominator not zero.

    With `root`, plus `sign` times the square root of a ratio.
    """

    numerator: Expr
    denominator: Expr
    root: Ratio | None = None

    @property
    def interner(self) -> TermTable:
        return self.numerator.interner

    def __neg__(self) -> Ratio:
        _plain(self)
        return Ratio(-self.numerator, self.denominator)


def decimal(interner: TermTable, text: str) -> Ratio:
    _, _, exponent = text.lower().partition("e")
    if len(text) > LONGEST_DECIMAL or exponent and abs(int(exponent)) > LONGEST_DECIMAL:
        raise NotExpressible(f"a decimal of more than {LONGEST_DECIMAL:,} digits")
    value = Fraction(text)
    return Ratio(interner.constant(value.numerator), interner.constant(value.denominator))


def ratio(value: Expr | Ratio) -> Ratio:
    return value if isinstance(value, Ratio) else Ratio(value, value.interner.one)


def _plain(*values: Ratio) -> None:
    if any(value.root is not None for value in values):
        raise NotExpressible(
            "arithmetic on a square root has no exact integer form; round it first, or compare it with a quotient"
        )


def _positive(x: Ratio) -> bool:
    """Return True if the quotient is a positive constant."""
    constant = x.root is None and x.numerator.is_constant and x.denominator.is_constant
    return constant and x.numerator.constant * x.denominator.constant > 0


def add(a: Ratio, b: Ratio) -> Ratio:
    for one, other in ((a, b), (b, a)):
        if one.root is None and one.numerator is one.interner.zero:
            return other  # a square root too
    _plain(a, b)
    if a.denominator is b.denominator:
        return Ratio(a.numerator + b.numerator, a.denominator)
    return Ratio(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)


def multiply(a: Ratio, b: Ratio) -> Ratio:
    for one, other in ((a, b), (b, a)):
        if one.root is None and one.numerator is one.denominator:
            return other
        if one.root is not None and _positive(other):
            # k * sqrt(x) is sqrt(k*k * x) for k > 0
            return square_root(multiply(one.root, multiply(other, other)))
    if a.root is not None and b.root is not None:
        return a.root if a.root == b.root else square_root(multiply(a.root, b.root))
    _plain(a, b)
    return Ratio(a.numerator * b.numerator, a.denominator * b.denominator)


def divide(a: Ratio, b: Ratio) -> Ratio:
    if a.root is not None and _positive(b):
        return multiply(a, Ratio(b.denominator, b.numerator))
    if b.root is not None and (a.root is not None or _positive(a)):
        # k / sqrt(x) is sqrt(k*k / x) for k > 0
        return square_root(divide(multiply(a, a) if a.root is None else a.root, b.root))
    _plain(a, b)
    return Ratio(a.numerator * b.denominator, a.denominator * b.numerator)


def zero_of(x: Ratio) -> Expr:
    """An expression with the same zeros as x."""
    return x.numerator if x.root is None else x.root.numerator


def choose(p: Prop, a: Ratio, b: Ratio) -> Ratio:
    """`a if p else b`."""
    interner = a.interner
    if a.root is not None and b.root is not None:
        return square_root(choose(p, a.root, b.root))
    _plain(a, b)
    if a.denominator.is_constant and b.denominator.is_constant:
        numerator = ite(interner, p, a.numerator * b.denominator, b.numerator * a.denominator)
        return Ratio(numerator, a.denominator * b.denominator)
    numerator, denominator = ite(interner, p, a.numerator, b.numerator), ite(interner, p, a.denominator, b.denominator)
    return Ratio(numerator, denominator)


def extreme(name: str, a: Ratio, b: Ratio) -> Ratio:
    """`max(a, b)` or `min(a, b)`."""
    if a.root is not None and b.root is not None:
        return square_root(extreme(name, a.root, b.root))
    _plain(a, b)
    interner = a.interner
    shared = a.denominator * b.denominator
    if shared.is_constant:
        x, y = a.numerator * b.denominator, b.numerator * a.denominator
        if shared.constant < 0:
            shared, x, y = -shared, -x, -y
        return Ratio(interner.apply(OPERATIONS[name], x, y), shared)
    return choose(compare(">=" if name == "max" else "<=", a, b), a, b)


def floor(x: Ratio) -> Expr:
    if x.root is not None:
        # floor(sqrt(n/d)) = isqrt(floor(n/d)) where n/d >= 0
        return x.interner.apply(function("isqrt"), floor(x.root))
    return x.interner.floordiv(x.numerator, x.denominator)


def ceil(x: Ratio) -> Expr:
    if x.root is not None:
        # ceil(sqrt(q)) is the least k >= 0 with k*k >= q: isqrt(ceil(q) - 1) + 1 for q > 0
        interner, up = x.interner, ceil(x.root)
        return ite(interner, Prop.gt(up, 0), interner.apply(function("isqrt"), up - 1) + 1, interner.zero)
    return -floor(-x)


def trunc(x: Ratio) -> Expr:
    if x.root is not None:
        return floor(x)
    interner = x.interner
    positive = at_least_zero(x)
    return ite(interner, positive, floor(x), ceil(x))


def round_half_even(x: Ratio) -> Expr:
    """Python's `round`: to the nearest integer, ties to the even one."""
    _plain(x)
    interner = x.interner
    doubled, divisor = 2 * x.numerator + x.denominator, 2 * x.denominator
    up = interner.floordiv(doubled, divisor)
    tie = Prop.join(interner, "and", [Prop.eq(interner.mod(doubled, divisor), 0), Prop.eq(interner.mod(up, 2), 1)])
    return ite(interner, tie, up - 1, up)


ROUNDINGS: Final[Mapping[str, Callable[[Ratio], Expr]]] = {
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "round": round_half_even,
}


def square_root(x: Ratio) -> Ratio:
    _plain(x)
    return Ratio(x.interner.zero, x.interner.one, root=x)


def at_least_zero(x: Ratio) -> Prop:
    """`x >= 0`, as `numerator * denominator >= 0`: the denominator is not zero."""
    if x.denominator.is_constant:
        return Prop.nonnegative(x.numerator if x.denominator.constant > 0 else -x.numerator)
    return Prop.nonnegative(x.numerator * x.denominator)


def compare(op: str, a: Ratio, b: Ratio) -> Prop:
    """The comparison as a proposition over integers."""
    if a.root is not None and b.root is not None:
        return compare(op, a.root, b.root)
    if b.root is not None:
        return compare({"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op), b, a)
    if a.root is not None:
        return _compare_root(op, a.root, b)
    difference = add(a, -b)
    match op:
        case ">=":
            return at_least_zero(difference)
        case "<=":
            return at_least_zero(-difference)
        case ">":
            return at_least_zero(-difference).negation
        case "<":
            return at_least_zero(difference).negation
        case "==":
            return Prop.eq(difference.numerator, 0)
        case _:
            return Prop.ne(difference.numerator, 0)


def _compare_root(op: str, a: Ratio, b: Ratio) -> Prop:
    """`sqrt(a) op b` by the sign of b and the squares."""
    interner = a.interner
    square = multiply(b, b)
    b_nonnegative = at_least_zero(b)
    match op:
        case ">=":
            return Prop.join(interner, "or", [at_least_zero(-b), compare(">=", a, square)])
        case "<":
            return _compare_root(">=", a, b).negation
        case "<=":
            return Prop.join(interner, "and", [b_nonnegative, compare("<=", a, square)])
        case ">":
            return _compare_root("<=", a, b).negation
        case "==":
            return Prop.join(interner, "and", [b_nonnegative, compare("==", a, square)])
        case _:
            return _compare_root("==", a, b).negation
