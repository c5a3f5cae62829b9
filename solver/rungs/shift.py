"""Shift every atom to its bound and look at the signs.

With `s = lo + s'` (or `s = hi - s'`), s' >= 0, a polynomial without a negative coefficient is not negative:

    >>> from solver.interner import Interner
    >>> from solver.facts import Facts
    >>> from solver.rungs import shift
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 2, None).declare_range(s, 2, None)
    >>> shift.prove_nonnegative(known, b * s - b - s)
    <shift: b*s >= b + s>

`(b' + 2)*(s' + 2) - (b' + 2) - (s' + 2) = b'*s' + b' + s'`.
"""

from __future__ import annotations

from typing import Final

from solver.explain import prove_bound
from solver.expr import Atom, Expr
from solver.knowledge import Knowledge
from solver.prop import Prop
from solver.reasons import Reason

DEGREE: Final = 6
TERMS: Final = 40


def prove_nonnegative(known: Knowledge, e: Expr) -> Reason | None:
    """`e >= 0` by shifting atoms to their bounds: lower ones, and upper ones where those do not do."""
    if len(e.terms) > TERMS:
        return None
    monomials = known.interner.monomials
    atoms: dict[Atom, None] = {}
    for m, _ in e.terms:
        if len(monomials[m]) > DEGREE:
            return None
        atoms.update(dict.fromkeys(monomials[m]))
    ends: dict[Atom, tuple[int, bool]] = {}
    both = []
    for atom in atoms:
        r = known.range_of(atom.monomial)
        if r.lo is not None:
            ends[atom] = (r.lo, True)
            if r.hi is not None:
                both.append(atom)
        elif r.hi is not None:
            ends[atom] = (r.hi, False)
        else:
            return None
    if is_nonnegative(shifted(e, ends)):
        return _proof(known, e, ends)
    for atom in both[:3]:
        high = known.range_of(atom.monomial).hi
        assert high is not None
        trial = ends | {atom: (high, False)}
        if is_nonnegative(shifted(e, trial)):
            return _proof(known, e, trial)
    return None


def shifted(e: Expr, ends: dict[Atom, tuple[int, bool]]) -> Expr:
    """`e` with each atom written as its lower end plus, or its upper end minus, something not negative."""
    images = {atom: atom.expr + end if lower else end - atom.expr for atom, (end, lower) in ends.items() if end or not lower}
    return e.interner.replace(e, images)


def is_nonnegative(e: Expr) -> bool:
    """Whether no coefficient is negative."""
    return e.constant >= 0 and all(c > 0 for _, c in e.terms)


def _proof(known: Knowledge, e: Expr, ends: dict[Atom, tuple[int, bool]]) -> Reason:
    """The proof, with each bound replaced by an older one where that suffices too."""
    premises = []
    final: dict[Atom, tuple[int, bool]] = dict(ends)
    for atom, (end, lower) in ends.items():
        older = known.ranges.get(atom.monomial)
        candidates = []
        while older is not None:
            bound = older.lo if lower else older.hi
            if bound is not None and bound != end and (older.lo_reason if lower else older.hi_reason) is not None:
                candidates.append(bound)
            older = older.older
        for weaker in reversed(candidates):
            if is_nonnegative(shifted(e, final | {atom: (weaker, lower)})):
                final[atom] = (weaker, lower)
                break
    for atom, (end, lower) in list(final.items()):
        reason = prove_bound(known, atom.monomial, lower, end)
        constant = reason.conclusion.expr.constant
        final[atom] = (-constant if lower else constant, lower)  # at least as tight, which no coefficient minds
        premises.append(reason)
    return Reason("shift", Prop.nonnegative(e), tuple(premises), tuple(final.items()))
