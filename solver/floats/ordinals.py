"""Ordinals of IEEE doubles: their order as integers, and sets of doubles as intervals of those.

    >>> from solver.floats.ordinals import LARGEST, NAN, SMALLEST, from_ordinal, ordinal
    >>> ordinal(0.0) == ordinal(-0.0) == 0, from_ordinal(ordinal(2.5) + 1), ordinal(-2.5) == -ordinal(2.5)
    (True, 2.5000000000000004, True)
    >>> ordinal(float("-inf")) == SMALLEST, ordinal(float("inf")) == LARGEST, ordinal(float("nan")) == NAN
    (True, True, True)

`x >= y` is `ordinal(x) >= ordinal(y)`, unless one of them is a NaN. NaNs share one ordinal, below all others: a
comparison with a constant from below (`x >= 2.5`) excludes them, one from above (`x <= 2.5`) is an interval that begins
at `SMALLEST`, and the negation of either includes them, as Python has it.

A set of doubles is a tuple of disjoint intervals of ordinals, in order. The inverse image of such a set under a
piecewise monotone step (`x + c`, `c*x`, `sqrt(x)`, `abs(x)`, `c/x`, `x*x`) is another: each piece is bisected, since
correct rounding is monotone.

    >>> from solver.floats.ordinals import preimage, steps_of
    >>> [(from_ordinal(lo), from_ordinal(hi)) for lo, hi in preimage(steps_of("abs", ()), ((ordinal(2.0), LARGEST),))]
    [(-inf, -2.0), (2.0, inf)]
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, cast

Ordinals = tuple[tuple[int, int], ...]
"""Disjoint closed intervals, in order."""

_SIGN: Final = 1 << 63
LARGEST: Final = 0x7FF0_0000_0000_0000
"""The ordinal of positive infinity."""
SMALLEST: Final = -LARGEST
NAN: Final = SMALLEST - 1


def pattern(x: float) -> int:
    """The 64 bits of a double."""
    return cast(int, struct.unpack("<Q", struct.pack("<d", x))[0])


def double(bits: int) -> float:
    """The double with these 64 bits: how a float that is known only at run time is an integer to the engine."""
    return cast(float, struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def ordinal(x: float) -> int:
    if x != x:
        return NAN
    try:
        bits = pattern(x)
    except struct.error:  # a complex power, which is no double
        return NAN
    return bits if bits < _SIGN else _SIGN - bits


def ordinal_of_pattern(bits: int) -> int:
    """`ordinal(double(bits))`, without making the double; 0 where there is none."""
    if 0 <= bits <= LARGEST:
        return bits
    if _SIGN <= bits <= _SIGN + LARGEST:
        return _SIGN - bits
    return NAN if 0 <= bits < 2 * _SIGN else 0


def from_ordinal(k: int) -> float:
    """The double with this ordinal (0.0 of the two zeros); integers below all ordinals count as that of NaNs, those
    above as that of infinity.
    """
    if k <= NAN:
        return math.nan
    if k >= LARGEST:
        return math.inf
    return double(k) if k >= 0 else -double(-k)


def at_least(c: float, *, strict: bool = False) -> int:
    """The first ordinal of a double that is at least (strictly: more than) c, an int or a float that is no NaN."""
    try:
        k = ordinal(float(c))
    except OverflowError:
        return LARGEST if c > 0 else SMALLEST + 1
    x = from_ordinal(k)  # the nearest double: one step is enough
    if x < c or strict and x == c:
        k += 1
    return k


def values_where(operation: str, c: float) -> Ordinals:
    """The doubles x with `x >= c`, `x > c`, `x <= c`, `x < c` or `x == c`; an int is compared exactly."""
    if c != c:
        return ()
    match operation:
        case ">=" | ">":
            first, last = at_least(c, strict=operation == ">"), LARGEST
        case "<=" | "<":
            first, last = SMALLEST, at_least(c, strict=operation == "<=") - 1
        case _:
            first, last = at_least(c), at_least(c, strict=True) - 1
    return ((first, last),) if first <= last else ()


class Piece(NamedTuple):
    """An interval of ordinals on which a step never falls, or (not `rising`) never rises."""

    lo: int
    hi: int
    rising: bool


class Steps(NamedTuple):
    """An operation on one double, monotone on each of its pieces.

    A NaN gives a NaN, and nothing else does.

    Doubles in no piece are outside of its domain.
    """

    compute: Callable[[float], float]
    pieces: tuple[Piece, ...]


_ALL: Final = (Piece(SMALLEST, LARGEST, True),)
_FALLING: Final = (Piece(SMALLEST, LARGEST, False),)
_BY_SIGN: Final = (Piece(SMALLEST, -1, False), Piece(0, LARGEST, True))


def steps_of(operation: str, constants: tuple[float | None, ...]) -> Steps | None:
    """The monotone pieces of an operation on its one variable operand; None where they are not known.

    `constants` are the operands of a binary operation, None for the variable one.
    """
    match operation, constants:
        case "negate", _:
            return Steps(lambda x: -x, _FALLING)
        case "abs", _:
            return Steps(abs, _BY_SIGN)
        case "twice", _:
            return Steps(lambda x: x + x, _ALL)
        case "square", _:
            return Steps(lambda x: x * x, _BY_SIGN)
        case "sqrt", _:
            # what is negative is outside the domain; as if it gave -inf, the step is monotone
            return Steps(lambda x: math.sqrt(x) if x >= 0 else -math.inf, _ALL)
        case _, (None, float() as c) | (float() as c, None) if not math.isfinite(c) or c == 0 and operation in "*/":
            return None
        case "+", (None, float() as c) | (float() as c, None):
            return Steps(lambda x: x + c, _ALL)
        case "-", (None, float() as c):
            return Steps(lambda x: x - c, _ALL)
        case "-", (float() as c, None):
            return Steps(lambda x: c - x, _FALLING)
        case "*", (None, float() as c) | (float() as c, None):
            return Steps(lambda x: x * c, _ALL if c > 0 else _FALLING)
        case "/", (None, float() as c):
            return Steps(lambda x: x / c, _ALL if c > 0 else _FALLING)
        case "/", (float() as c, None):
            return Steps(lambda x: c / x, (Piece(SMALLEST, -1, c < 0), Piece(1, LARGEST, c < 0)))
        case _:
            return None


@lru_cache(maxsize=4096)
def inverse_image(operation: str, constants: tuple[float | None, ...], values: Ordinals) -> Ordinals | None:
    """The inverse image of a set of doubles under an operation; None where it is not known to be monotone."""
    steps = steps_of(operation, constants)
    return None if steps is None else preimage(steps, values)


def preimage(steps: Steps, values: Ordinals) -> Ordinals:
    """The doubles of the domain whose image is among the values."""
    found = [(NAN, NAN)] if values and values[0][0] == NAN else []
    compute = steps.compute
    for piece in steps.pieces:
        for lo, hi in values if piece.rising else reversed(values):
            if hi == NAN:
                continue
            lo = max(lo, SMALLEST)

            def reaches(k: int, least: int = lo, most: int = hi, rising: bool = piece.rising) -> bool:
                image = ordinal(compute(from_ordinal(k)))
                return image >= least if rising else image <= most

            def passes(k: int, least: int = lo, most: int = hi, rising: bool = piece.rising) -> bool:
                image = ordinal(compute(from_ordinal(k)))
                return image > most if rising else image < least

            first, end = _first(reaches, piece), _first(passes, piece)
            if first < end:
                found.append((first, end - 1))
    return _merged(found)


def _first(accepts: Callable[[int], bool], piece: Piece) -> int:
    """The first ordinal of the piece that is accepted, one past its end if there is none."""
    low, high = piece.lo - 1, piece.hi + 1
    while high - low > 1:
        middle = (low + high) // 2
        if accepts(middle):
            high = middle
        else:
            low = middle
    return high


def _merged(intervals: list[tuple[int, int]]) -> Ordinals:
    found: list[tuple[int, int]] = []
    for lo, hi in sorted(intervals):
        if found and lo <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(hi, found[-1][1]))
        else:
            found.append((lo, hi))
    return tuple(found)


def complement(values: Ordinals, lo: int = NAN, hi: int = LARGEST) -> Ordinals:
    """The ordinals from lo to hi that are not among the values."""
    found = []
    for first, last in values:
        if lo < first:
            found.append((lo, min(first - 1, hi)))
        lo = max(lo, last + 1)
    if lo <= hi:
        found.append((lo, hi))
    return tuple([(first, last) for first, last in found if first <= last])
