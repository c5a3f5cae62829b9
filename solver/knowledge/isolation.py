"""Isolate a quotient: for D > 0, `N//D >= l` is `N >= D*l`, and `N//D <= h` is `N < D*(h + 1)`.

>>> from solver.terms.interner import Interner
>>> from solver.knowledge.isolation import Isolated
>>> terms = Interner()
>>> n, d, k = (terms.symbol(name) for name in "ndk")
>>> print(Isolated((n // d).atom, -k, 1, n, d).goal(), "and", Isolated((n // d).atom, k, -1, n, d).goal())
d*k <= n and d*k + d > n

Whether a quotient is kept as `N//D` or as `(-N)//(-D)`, which is the same, depends on the order of its symbols: a
divisor known to be negative serves as well as a positive one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_side
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

TERMS: Final = 64
"""The terms of a sum above which no quotient is isolated: the rest would be multiplied by the divisor."""


class Isolated(NamedTuple):
    """`sign * atom + rest` for a quotient `atom` of n by a positive d."""

    atom: Atom
    rest: Expr
    sign: int
    n: Expr
    d: Expr

    def goal(self) -> Prop:
        """The inequality about n and d equivalent to `sign * (n//d) + rest >= 0`."""
        n, d, rest = self.n, self.d, self.rest
        return Prop.nonnegative(n + d * rest if self.sign > 0 else d * (rest + 1) - 1 - n)

    def proof(self, known: Knowledge, conclusion: Prop, proof: ProofStep) -> ProofStep:
        """The proof of the inequality from that of `goal`."""
        positive = prove_side(known, self.d, True, 1)
        return ProofStep("isolate", conclusion, (proof, positive), (self.atom, self.rest, self.sign))


def oriented(known: Knowledge, atom: Atom) -> tuple[Expr, Expr] | None:
    """Dividend and divisor of a quotient, both negated where the divisor is known to be negative.

    None where its sign is unknown.
    """
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    low = known.low(d)
    if low is not None and low >= 1:
        return n, d
    high = None if low is not None and low >= 0 else known.high(d)
    return (-n, -d) if high is not None and high <= -1 else None


def isolations(known: Knowledge, e: Expr) -> Iterator[Isolated]:
    """The quotients by a divisor of known sign that occur once in an expression, with coefficient 1 or -1, and the
    rest.
    """
    if len(e.terms) > TERMS:
        return
    monomials = known.interner.monomials
    for m, c in e.terms:
        atoms = monomials[m]
        if len(atoms) != 1 or abs(c) != 1 or atoms[0].kind != "floordiv":
            continue
        atom = atoms[0]
        found = oriented(known, atom)
        if found is not None:
            rest = e - c * atom.expr
            if atom not in rest.atoms:
                yield Isolated(atom, rest, c, *found)
