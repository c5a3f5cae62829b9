"""Root bounds: beyond which value a univariate polynomial stays negative, proven by shifting the atom.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.roots import root_bound
    >>> terms = Interner()
    >>> x = terms.symbol("x")
    >>> e = 40 - 3 * x - x * x                        # at least 0 from -8 to 5
    >>> root_bound(e, x.atom, lower=True), root_bound(e, x.atom, lower=False)
    (-8, 5)

With `x = end + 1 + x'`, x' >= 0, the polynomial has no coefficient above 0 and is below 0: so it is beyond every larger
end too, and bisection finds the least one.
"""

from __future__ import annotations

from typing import Final

from solver.terms.expr import Atom, Expr

BITS: Final = 512


def root_bound(e: Expr, atom: Atom, *, lower: bool) -> int | None:
    """A bound on the roots of a univariate polynomial: beyond it the polynomial is negative.

    None if there is none this small.
    """
    rises = e.lead()[1] > 0
    if rises != (lower and e.degree % 2 == 1):
        return None
    sign = -1 if lower else 1

    def negative_beyond(reach: int) -> bool:
        shifted = (-e - 1).replace({atom: sign * (atom.expr + reach + 1)})
        return shifted.constant >= 0 and all(c > 0 for _, c in shifted.terms)

    outside = 1
    while not negative_beyond(outside):
        outside *= 2
        if outside.bit_length() > BITS:
            return None
    inside = -outside
    while negative_beyond(inside):
        inside *= 2
        if inside.bit_length() > BITS:
            return None
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if negative_beyond(middle):
            outside = middle
        else:
            inside = middle
    return sign * outside
