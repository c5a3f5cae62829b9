"""Congruences of one expression modulo several numbers: which are redundant.

    >>> from shapes.guards.congruences import implied
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> guards = [terms.eq(s % 2, 0), terms.eq((3 * s) % 12, 0), terms.eq((b + s) % 2, 1), terms.eq(s % 6, 0)]
    >>> sorted(implied(guards, {b.atom: 5, s.atom: 24}))
    [0]

All hold at the hints, so each says `f ≡ f(hints) (mod m)` of its form f. Such a congruence follows from others of the
same form if and only if its modulus divides the least common multiple of theirs (Chinese remainder theorem): nothing
has to be proven one by one, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, lcm
from typing import NamedTuple

from solver.knowledge.multiples import remainder_in
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Congruence(NamedTuple):
    """A congruence: the remainder of a form modulo a number is the one at the hints."""

    form: Expr
    modulus: int


def congruence_of(prop: Prop) -> Congruence | None:
    """An equality that says what an expression leaves modulo a number, of the expression without its constant and
    content: `c*f % m == r` is about f modulo m/gcd(c, m)."""
    found = remainder_in(prop) if prop.kind == "eq" else None
    if found is None or not found.n.terms:
        return None
    form, c = found.n.form()
    return Congruence(form, found.modulus // gcd(found.modulus, c))


def implied(guards: Sequence[Prop], hints: Mapping[Atom, int]) -> set[int]:
    """The indices of congruences that follow from the others that are left; of several that do, the first."""
    by_form: dict[Expr, list[tuple[int, int]]] = {}
    for index, prop in enumerate(guards):
        found = congruence_of(prop)
        if found is not None and all(atom in hints for atom in prop.symbols) and prop.evaluate(hints):
            by_form.setdefault(found.form, []).append((index, found.modulus))
    redundant: set[int] = set()
    for group in by_form.values():
        for (index, modulus), others in zip(group, lcm_of_others([modulus for _, modulus in group]), strict=True):
            if others % modulus == 0:
                redundant.add(index)
    return redundant


def lcm_of_others(moduli: Sequence[int], *, left_out: bool = True) -> list[int]:
    """The least common multiple of all numbers but each; where one divides it, it is left out for those after it."""
    after = [1]
    for modulus in reversed(moduli):
        after.append(lcm(after[-1], modulus))
    found = []
    before = 1
    for position, modulus in enumerate(moduli):
        others = lcm(before, after[len(moduli) - 1 - position])
        found.append(others)
        if not left_out or others % modulus:
            before = lcm(before, modulus)
    return found
