"""An inequality that one fact gives, or two, with bounds: `a <= c` from `a + b <= c` and `b >= 0`.

>>> from solver.facts import Facts
>>> from solver.interner import Interner
>>> from solver.rungs import single
>>> terms = Interner()
>>> a, b, c = (terms.symbol(name) for name in "abc")
>>> known = Facts.empty(terms).declare_range(a, 0, None).declare_range(b, 0, None).declare_range(c, 0, None)
>>> known = known.assume_prop(terms.le(a + b, c))
>>> single.prove_nonnegative(known, c - a)
<combine: a <= c>

Cheap enough for what is asked again and again, as the signs that settle clamps; what takes more is for the linear
solver.
"""

from __future__ import annotations

from typing import Final

from solver.explain import prove_side
from solver.expr import Expr
from solver.knowledge import Entry, Knowledge, Uses
from solver.laws import size_of
from solver.prop import Prop
from solver.reasons import Reason, combine, times

LOOKED: Final = 16
"""Facts about the atom with the fewest of them that are tried."""
FACTS: Final = 2
SUMS: Final = 24
"""So many sums of a fact and what is left are looked at for one inequality."""
TERMS: Final = 8
FACTORS: Final = 4


def prove_nonnegative(known: Knowledge, e: Expr, *, facts: int = FACTS) -> Reason | None:
    """`e >= 0` by bounds and at most so many facts; for a product, `e >= 1` factor by factor."""
    if not 1 < len(e.terms) <= TERMS:
        return prove_product(known, e)
    low = known.low(e)
    if low is not None and low >= 0:
        return prove_side(known, e, True, 0)
    return _Sums(known).prove(e, facts)


class _Sums:
    """One inequality as facts and what is left, few of which are looked at."""

    __slots__ = ("known", "left")

    def __init__(self, known: Knowledge) -> None:
        self.known = known
        self.left = SUMS

    def prove(self, e: Expr, facts: int) -> Reason | None:
        """`e >= 0` by at most so many facts: one of them wherever that is enough."""
        further: list[tuple[Reason, int, Expr]] = []
        for entry in _entries(self.known, e):
            p = entry.prop
            if len(p.terms) < 2 or p.kind not in ("ge", "eq"):
                continue
            for factor in _factors(e, p):
                if self.left <= 0:
                    return None
                self.left -= 1
                rest = e - p.expr * factor
                least = self.known.low(rest)
                if least is not None and least >= 0:
                    return _sum(entry.reason, factor, rest, prove_side(self.known, rest, True, 0))
                if facts > 1 and len(rest.terms) <= len(e.terms) and not self.known.refuted(rest):
                    further.append((entry.reason, factor, rest))
        for reason, factor, rest in further:
            proof = self.prove(rest, facts - 1)
            if proof is not None:
                return _sum(reason, factor, rest, proof)
        return None


def prove_product(known: Knowledge, e: Expr) -> Reason | None:
    """`k*x*y + c >= 0` for k >= -c, because no factor is less than one."""
    if len(e.terms) != 1:
        return None
    ((m, k),) = e.terms
    atoms = known.interner.monomials[m]
    if not 0 < -e.constant <= k or not 1 < len(atoms) <= FACTORS:
        return None
    product: Reason | None = None
    for atom in atoms:
        one = prove_positive(known, atom.expr)
        if one is None:
            return None
        if product is None:
            product = one
        else:  # (x - 1)*(y - 1) + (x - 1) + (y - 1) is x*y - 1
            product = combine([times(product, one), product, one], [1, 1, 1])
    return product


def prove_positive(known: Knowledge, e: Expr) -> Reason | None:
    """`e >= 1` for one atom, by bounds, one fact, or by what it is a quotient of."""
    from solver.settled import prove_sign

    low = known.low(e)
    if low is not None:
        return prove_side(known, e, True, 1) if low >= 1 else prove_sign(known, e - 1)
    return None


def _sum(reason: Reason, factor: int, rest: Expr, proof: Reason) -> Reason:
    """A fact so many times, and what is left, which is proven."""
    if not rest.terms:
        return combine([reason], [factor], rest.constant)
    size = size_of(rest)
    return combine([reason, proof], [factor, size], max(rest.constant - size * proof.conclusion.expr.constant, 0))


def _entries(known: Knowledge, e: Expr) -> list[Entry]:
    """The newest facts about the atom of the expression that the fewest are about."""
    best: Uses | None = None
    monomials = known.interner.monomials
    for m, _ in e.terms:
        for atom in monomials[m]:
            uses = known.uses.get(atom.serial)
            if uses is not None and (best is None or uses.count < best.count):
                best = uses
    found: list[Entry] = []
    while best is not None and len(found) < LOOKED:
        found.append(best.entry)
        best = best.rest
    return found


def _factors(e: Expr, p: Prop) -> list[int]:
    """How often the fact may stand in the expression: so often that one of its terms is gone."""
    terms = dict(e.terms)
    found: list[int] = []
    for m, c in p.terms:
        factor, rest = divmod(terms.get(m, 0), c)
        if factor and not rest and (factor > 0 or p.kind == "eq") and factor not in found:
            found.append(factor)
    return found
