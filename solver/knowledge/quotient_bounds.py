"""Bounds of a quotient from the order of its dividend and multiples of its divisor.

Intervals of `n` and `d` alone say nothing of `n // d` where both are large; `n >= d` says that it is at least 1:

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> height, patch = terms.symbol("height"), terms.symbol("patch")
    >>> known = Facts.empty(terms).declare_range(patch, 1, None).learn_prop(terms.ge(height, patch))
    >>> known.low(height // patch)
    1
    >>> Facts.empty(terms).declare_range(height, 0, None).learn_prop(terms.lt(height, patch)).high(height // patch)
    0

Further multiples are tried by doubling; `n < d` is the only upper bound that is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from solver.terms.expr import Atom, Expr
from solver.terms.intervals import EVERYTHING, Interval

TERMS: Final = 12
"""Terms of a dividend and a divisor that are compared."""
MULTIPLE: Final = 64
"""Largest multiple of a divisor that a dividend is compared with."""
Low = Callable[[Expr], int | None]
"""The known lower bound of an expression."""


def ordered_interval(atom: Atom, known: Interval, low: Low) -> Interval:
    """The bounds of a quotient by the order of its arguments, those that are tighter than the known interval."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    least = None if d.is_constant or len(n.terms) + len(d.terms) > TERMS else low(d)
    if least is None or least < 1:
        return EVERYTHING
    lower, upper = known
    return (
        _lower(n, d, low) if lower is None or lower < 1 else None,
        0 if (upper is None or upper > 0) and _is_nonnegative(d - 1 - n, low) else None,
    )


def _lower(n: Expr, d: Expr, low: Low) -> int | None:
    multiple = 0
    while (trial := max(1, 2 * multiple)) <= MULTIPLE and _is_nonnegative(n - d * trial, low):
        multiple = trial
    return multiple or None


def _is_nonnegative(e: Expr, low: Low) -> bool:
    least = low(e)
    return least is not None and least >= 0
