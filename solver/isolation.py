"""A quotient that stands alone: for D > 0, `N//D >= l` is `N >= D*l`, and `N//D <= h` is `N < D*(h + 1)`.

>>> from solver.interner import Interner
>>> from solver.isolation import isolated
>>> terms = Interner()
>>> n, d, k = (terms.symbol(name) for name in "ndk")
>>> print(isolated((n // d).atom, -k, 1), "and", isolated((n // d).atom, k, -1))
d*k <= n and d*k + d > n
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from solver.expr import Atom, Expr
from solver.knowledge import Knowledge
from solver.prop import Prop

TERMS: Final = 64
"""In a longer sum no quotient is isolated: what is left of it would be multiplied by the divisor."""


def isolated(atom: Atom, rest: Expr, sign: int) -> Prop:
    """What `sign * (N//D) + rest >= 0` says about N and D, for D > 0."""
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    return Prop.nonnegative(n + d * rest if sign > 0 else d * (rest + 1) - 1 - n)


def isolations(known: Knowledge, e: Expr) -> Iterator[tuple[Atom, Expr, int]]:
    """The quotients by something positive that occur once in an expression, with coefficient 1 or -1, and what is left
    of it.
    """
    if len(e.terms) > TERMS:
        return
    monomials = known.interner.monomials
    for m, c in e.terms:
        atoms = monomials[m]
        if len(atoms) != 1 or abs(c) != 1 or atoms[0].kind != "floordiv":
            continue
        atom = atoms[0]
        divisor = atom.args[1]
        assert isinstance(divisor, Expr)
        low = known.low(divisor)
        if low is not None and low >= 1:
            rest = e - c * atom.expr
            if atom not in rest.atoms:
                yield atom, rest, c
