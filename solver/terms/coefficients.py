"""The coefficients of a polynomial: pairs of a monomial's number and a coefficient, sorted, none zero.

>>> from solver.terms.coefficients import merged
>>> merged(((1, 2), (3, 5)), ((1, 1), (2, 7)), -2)
((2, -14), (3, 5))
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

Terms = tuple[tuple[int, int], ...]
HASHED: Final = 1 << 60
"""Smaller numbers but -2 have hashes of their own."""


def distinct_hash(number: int) -> int:
    """A number with a hash of its own: Python gives -1 and -2 one hash, and so k and k + 2**61 - 1.

    >>> hash(distinct_hash(-1)) == hash(distinct_hash(-2)), hash(distinct_hash(2**61)) == hash(distinct_hash(1))
    (False, False)
    """
    if number != -2 and -HASHED < number < HASHED:
        return number
    return int.from_bytes(blake2b(f"{number:x}".encode(), digest_size=7).digest(), "big")


def merged(a: Terms, b: Terms, k: int) -> Terms:
    """The terms of `a + k*b`, for k not zero: both are sorted."""
    result: list[tuple[int, int]] = []
    i, size = 0, len(a)
    for n, d in b:
        while i < size and a[i][0] < n:
            result.append(a[i])
            i += 1
        if i < size and a[i][0] == n:
            d = a[i][1] + k * d
            i += 1
            if d:
                result.append((n, d))
        else:
            result.append((n, k * d))
    while i < size:
        result.append(a[i])
        i += 1
    return tuple(result)
