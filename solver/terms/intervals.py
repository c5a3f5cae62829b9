"""Interval arithmetic over unbounded integers; None is the missing bound.

    >>> from solver.terms.intervals import product, quotient
    >>> product((2, None), (3, 5))
    (6, None)
    >>> quotient((0, 99), (10, None))
    (0, 9)

Used by the bounds rung to find bounds and by the checker to recompute them: small, total, no rounding.
"""

from __future__ import annotations

Interval = tuple[int | None, int | None]
EVERYTHING: Interval = (None, None)


def negate(a: Interval) -> Interval:
    lo, hi = a
    return (None if hi is None else -hi, None if lo is None else -lo)


def hull(a: Interval, b: Interval) -> Interval:
    """The smallest interval that contains both."""
    lo = None if a[0] is None or b[0] is None else min(a[0], b[0])
    hi = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return lo, hi


def meet(a: Interval, b: Interval) -> Interval:
    lo = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    hi = b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])
    return lo, hi


def product(a: Interval, b: Interval) -> Interval:
    """The interval of `x*y`."""
    if a == (0, 0) or b == (0, 0):
        return (0, 0)
    al, ah = a
    bl, bh = b
    if al is not None and bl is not None and al >= 0 and bl >= 0:
        return al * bl, None if ah is None or bh is None else ah * bh
    corners: list[int] = []
    lo_open = hi_open = False
    for x, x_sign in ((al, -1), (ah, 1)):
        for y, y_sign in ((bl, -1), (bh, 1)):
            if x is not None and y is not None:
                corners.append(x * y)
                continue
            # an infinite end times the other end: the sign of the product says which way it is open
            sx = x_sign if x is None else (x > 0) - (x < 0)
            sy = y_sign if y is None else (y > 0) - (y < 0)
            if sx * sy > 0:
                hi_open = True
            elif sx * sy < 0:
                lo_open = True
            else:
                corners.append(0)
    return (None if lo_open else min(corners)), (None if hi_open else max(corners))


def power(a: Interval, exponent: int) -> Interval:
    """The interval of `x**exponent`, exponent >= 1; an even power is not negative."""
    lo, hi = a
    if exponent == 1:
        return a
    if exponent % 2 or (lo is not None and lo >= 0):
        return (None if lo is None else lo**exponent), (None if hi is None else hi**exponent)
    if hi is not None and hi <= 0:
        return power(negate(a), exponent)
    return 0, None if lo is None or hi is None else max(-lo, hi) ** exponent


def quotient(n: Interval, d: Interval) -> Interval:
    """The interval of `x // y` for y not zero; unbounded unless the sign of y is known."""
    dl, dh = d
    if dl is not None and dh is not None and dl > dh:
        return EVERYTHING  # facts that contradict each other, which was not noticed yet
    if dl is None or dl < 1:
        if dh is None or dh > -1:
            return EVERYTHING
        n, (dl, dh) = negate(n), negate(d)
        assert dl is not None
    nl, nh = n
    if nl is None:
        lo = None
    elif nl >= 0:
        lo = 0 if dh is None else nl // dh
    else:
        lo = nl // dl
    if nh is None:
        hi = None
    elif nh >= 0:
        hi = nh // dl
    else:
        hi = -1 if dh is None else nh // dh
    return lo, hi


def relu(e: Interval) -> Interval:
    lo, hi = e
    return (0 if lo is None else max(lo, 0)), (None if hi is None else max(hi, 0))


def bitand(a: Interval, b: Interval) -> Interval:
    """The interval of `x & y`."""
    (al, ah), (bl, bh) = a, b
    a_positive, b_positive = al is not None and al >= 0, bl is not None and bl >= 0
    if a_positive and b_positive:
        return 0, bh if ah is None else ah if bh is None else min(ah, bh)
    if a_positive:
        return 0, ah
    if b_positive:
        return 0, bh
    return EVERYTHING


POWER_BITS = 4096
"""Bounds of a power with a symbolic exponent are not computed beyond this many bits."""


def raised(base: Interval, exponent: Interval) -> Interval:
    """The interval of `x ** y` for y >= 0 and x >= 1."""
    (bl, bh), (el, eh) = base, exponent
    if bl is None or bl < 1 or el is None or el < 0:
        return EVERYTHING
    if bh is not None and bh < bl or eh is not None and eh < el:
        return EVERYTHING  # facts that contradict each other, which was not noticed yet
    lo = bl**el if bl.bit_length() * el <= POWER_BITS else None
    hi = bh**eh if bh is not None and eh is not None and bh.bit_length() * eh <= POWER_BITS else None
    return (1 if lo is None else lo), hi


def root(value: int, exponent: int) -> int:
    """The largest `r >= 0` with `r**exponent <= value`, for value >= 0; -1 below."""
    if value < 0:
        return -1
    if exponent == 1:
        return value
    low, high = 0, 1 << (value.bit_length() // exponent + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**exponent <= value:
            low = middle
        else:
            high = middle - 1
    return low
