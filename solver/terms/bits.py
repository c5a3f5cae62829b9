"""Bitwise operations on integers of any size (two's complement, as Python has them), reduced to `&`.

`a | b` is `a + b - (a & b)`, `a ^ b` is `a + b - 2*(a & b)`, `~a` is `-a - 1`. A mask of one or few runs of bits is
arithmetic:

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> terms.bit_and(s, 15) is s % 16
    True
    >>> terms.bit_and(s, -16) is s - s % 16
    True
"""

from __future__ import annotations

from typing import Final

from solver.terms.expr import Expr, TermTable

MASK_RUNS: Final = 4
"""A mask with more runs of ones than this stays a bitwise atom."""


def bit_and(terms: TermTable, a: Expr, b: Expr) -> Expr:
    """`a & b`."""
    if not a.terms:
        a, b = b, a
    if not b.terms:
        if not a.terms:
            return terms.constant(a.constant & b.constant)
        masked = _mask(terms, a, b.constant)
        if masked is not None:
            return masked
    elif a is b:
        return a
    first, second = sorted((a, b), key=lambda e: e.order)
    return terms.atom("bitand", (first, second))


def _mask(terms: TermTable, a: Expr, mask: int) -> Expr | None:
    """`a & mask` as a sum over the runs of ones of the mask; None for too many runs."""
    if mask < 0:
        rest = _mask(terms, a, ~mask)
        return None if rest is None else terms.subtract(a, rest)
    total, runs = terms.zero, 0
    low = 0
    while mask >> low:
        if not mask >> low & 1:
            low += 1
            continue
        high = low
        while mask >> high & 1:
            high += 1
        runs += 1
        if runs > MASK_RUNS:
            return None
        field = terms.mod(terms.floordiv(a, 1 << low), 1 << (high - low))
        total = terms.add(total, terms.scale(field, 1 << low))
        low = high
    return total
