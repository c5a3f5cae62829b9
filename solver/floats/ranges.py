"""Ranges of IEEE doubles, one operation at a time.

    >>> from solver.floats.ranges import apply_range, converted, quotient
    >>> apply_range("*", [converted((3, 10)), converted((-2, 5))])
    Range(lo=-20.0, hi=50.0, nan=False, raises=False)
    >>> quotient((1, 8), (0, 4))             # of integers, rounded once; the divisor 0 is outside the domain
    Range(lo=0.25, hi=8.0, nan=False, raises=True)

`Range(lo, hi, nan, raises)`: every value that is not a NaN is in [lo, hi]; `nan` if there may be NaNs; `raises` if
Python may raise an exception instead, in which case the range speaks of the other values only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

from solver.terms.intervals import Interval

OVERFLOW: Final = 2**1024 - 2**970
"""The least integer whose conversion to a double overflows: halfway from the largest double to 2**1024."""
MAX: Final = math.nextafter(math.inf, 0)
TINY: Final = math.nextafter(0, 1)
POWER_SLACK: Final = 8
"""A generous error bound of a power from the C library, in units in the last place."""


class Range(NamedTuple):
    """Bounds of a float value."""

    lo: float
    hi: float
    nan: bool = False
    raises: bool = False

    @property
    def finite(self) -> bool:
        return not self.nan and self.lo >= -MAX and self.hi <= MAX


ANY: Final = Range(-math.inf, math.inf, True, True)


def exact(value: float) -> Range:
    if math.isnan(value):
        return Range(-math.inf, math.inf, True)
    return Range(value, value)


def converted(interval: Interval, *, outward: bool = False) -> Range:
    """`float(n)`; with `outward`, a range around n itself, which no conversion rounds or refuses."""
    lo, hi = interval
    if outward:
        below = -math.inf if lo is None or lo <= -OVERFLOW else MAX if lo >= OVERFLOW else math.nextafter(lo, -math.inf)
        above = math.inf if hi is None or hi >= OVERFLOW else -MAX if hi <= -OVERFLOW else math.nextafter(hi, math.inf)
        return Range(below, above)
    raises = lo is None or hi is None or lo <= -OVERFLOW or hi >= OVERFLOW
    return Range(_clamped(lo, -1), _clamped(hi, 1), raises=raises)


def _clamped(n: int | None, side: int) -> float:
    """`float(n)` for a bound; what overflows is outside the domain, so the largest double bounds the rest."""
    if n is None or abs(n) >= OVERFLOW:
        return MAX if (side if n is None else n) > 0 else -MAX
    return float(n)


def quotient(n: Interval, d: Interval) -> Range:
    """The range of `n / d` for integers: Python rounds the exact quotient once."""
    d_lo, d_hi = d
    raises = (d_lo is None or d_lo <= 0) and (d_hi is None or d_hi >= 0)
    parts: list[Range] = []
    if d_hi is None or d_hi >= 1:
        parts.append(_quotient_by_positive(n, (1 if d_lo is None else max(d_lo, 1), d_hi)))
    if d_lo is None or d_lo <= -1:
        flipped = (1 if d_hi is None else max(-d_hi, 1), None if d_lo is None else -d_lo)
        below = _quotient_by_positive(n, flipped)
        parts.append(Range(-below.hi, -below.lo, raises=below.raises))
    if not parts:
        return Range(-MAX, MAX, raises=True)
    return Range(min(p.lo for p in parts), max(p.hi for p in parts), raises=raises or any(p.raises for p in parts))


def _quotient_by_positive(n: Interval, d: tuple[int, int | None]) -> Range:
    lo, hi = n
    least, most = d

    def divided(value: int, by: int | None) -> float:
        if by is None:
            return 0.0
        try:
            return value / by
        except OverflowError:
            return MAX if value > 0 else -MAX

    raises = lo is None or hi is None or max(abs(lo), abs(hi)) >= OVERFLOW * least
    below = -MAX if lo is None else divided(lo, least if lo < 0 else most)
    above = MAX if hi is None else divided(hi, least if hi > 0 else most)
    return Range(below, above, raises=raises)


def apply_range(operation: str, operands: Sequence[Range]) -> Range:
    """The range of an operation on floats; `choose` is `operands[1] if operands[0] else operands[2]`."""
    match operation, operands:
        case "choose", (_, a, b):
            found = _hull(a, b)
        case "negate", (a,):
            found = Range(-a.hi, -a.lo, a.nan)
        case "abs", (a,):
            nearest = 0.0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi))
            found = Range(nearest, max(abs(a.lo), abs(a.hi)), a.nan)
        case "sqrt", (a,):
            found = Range(math.sqrt(max(a.lo, 0.0)), math.sqrt(max(a.hi, 0.0)), a.nan, a.lo < 0)
        case "+", (a, b):
            nan = a.nan or b.nan or (a.hi == math.inf and b.lo == -math.inf) or (a.lo == -math.inf and b.hi == math.inf)
            found = Range(_or(a.lo + b.lo, -math.inf), _or(a.hi + b.hi, math.inf), nan)
        case "-", (a, b):
            found = apply_range("+", [a, Range(-b.hi, -b.lo, b.nan)])
        case "*", (a, b):
            corners = [_or(x * y, 0.0) for x, y in product((a.lo, a.hi), (b.lo, b.hi))]
            nan = a.nan or b.nan or _zero_by_infinite(a, b) or _zero_by_infinite(b, a)
            found = Range(min(corners), max(corners), nan)
        case "/", (a, b):
            found = _divide(a, b)
        case "//" | "%", (a, b):
            found = _floor_divide(operation, a, b)
        case "**", (a, b):
            found = _power(a, b)
        case "round", (a, digits):
            found = _round(a, int(digits.lo))
        case _:
            return ANY
    if not found.raises and any(operand.raises for operand in operands):
        return found._replace(raises=True)
    return found


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value


def _hull(a: Range, b: Range) -> Range:
    return Range(min(a.lo, b.lo), max(a.hi, b.hi), a.nan or b.nan, a.raises or b.raises)


def _zero_by_infinite(a: Range, b: Range) -> bool:
    return a.lo <= 0 <= a.hi and not (b.lo >= -MAX and b.hi <= MAX)


def _divide(a: Range, b: Range) -> Range:
    """The range of a quotient, from the negative and positive parts of the divisor; zero is outside the domain."""
    parts = []
    if b.hi > 0:
        parts.append((max(b.lo, TINY), b.hi))
    if b.lo < 0:
        parts.append((b.lo, min(b.hi, -TINY)))
    if not parts:
        return ANY
    corners = [_or(x / y, 0.0) for part in parts for x, y in product((a.lo, a.hi), part)]
    infinite = math.inf in (a.hi, -a.lo) and math.inf in (b.hi, -b.lo)
    if infinite:
        return Range(-math.inf, math.inf, True, b.lo <= 0 <= b.hi)
    return Range(min(corners), max(corners), a.nan or b.nan, b.lo <= 0 <= b.hi)


def _floor_divide(operation: str, a: Range, b: Range) -> Range:
    """The range of `//` or `%`, which Python rounds several times: the quotient is off by one and a few units at most.
    """
    if not (a.finite and b.finite):
        return ANY
    raises = b.lo <= 0 <= b.hi
    if operation == "%":
        return Range(min(b.lo, 0.0), max(b.hi, 0.0), False, raises)
    q = _divide(a, b)
    if not q.finite:
        return Range(-math.inf, math.inf, True, raises)
    return Range(q.lo - 2.0 - abs(q.lo) * 2.0**-48, q.hi + 2.0 + abs(q.hi) * 2.0**-48, False, raises)


def _power(a: Range, b: Range) -> Range:
    """The range of a power with a constant exponent, for a nonnegative base or an even exponent: by the ends, widened.
    """
    if b.lo != b.hi or b.nan or a.nan or not math.isfinite(b.lo):
        return ANY
    exponent = b.lo
    if a.lo < 0:
        if exponent % 2 or exponent < 0:
            return ANY
        a = apply_range("abs", [a])
    ends, raises = [], False
    for base in (a.lo, a.hi):
        try:
            ends.append(base**exponent)
        except (OverflowError, ZeroDivisionError):
            ends.append(MAX)
            raises = True
    lo, hi = min(ends), max(ends)
    for _ in range(POWER_SLACK):
        lo, hi = math.nextafter(lo, -math.inf), math.nextafter(hi, math.inf)
    return Range(max(lo, 0.0), hi, False, raises)


def _round(a: Range, digits: int) -> Range:
    """`round(x, digits)`: to the nearest decimal, ties to even, then to the nearest double; both are monotone."""
    if not a.finite:
        return ANY
    try:
        return Range(round(a.lo, digits), round(a.hi, digits), a.nan)
    except OverflowError:
        return ANY
