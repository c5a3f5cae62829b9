"""The coefficients of a polynomial: pairs of a monomial's number and a coefficient, sorted, none zero.

    >>> from solver.terms.coefficients import merged
    >>> merged(((1, 2), (3, 5)), ((1, 1), (2, 7)), -2)
    ((2, -14), (3, 5))
"""

from __future__ import annotations

Terms = tuple[tuple[int, int], ...]


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
