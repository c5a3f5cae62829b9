"""Products of atoms as tuples sorted by serial number, repeated as often as they occur: what divides what.

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.monomials import divides, shared, without
    >>> terms = Interner()
    >>> a, b, c = (terms.symbol(name).atom for name in "abc")
    >>> divides((a, b), (a, b, b)), divides((a, a), (a, b, b))
    (True, False)
    >>> shared((a, b, b), (b, b, c)) == (b, b), without((a, b, b), (a, b)) == (b,)
    (True, True)
"""

from __future__ import annotations

from solver.terms.expr import Atom


def divides(small: tuple[Atom, ...], large: tuple[Atom, ...]) -> bool:
    """Return True if the first product divides the second."""
    if len(small) > len(large):
        return False
    position = 0
    for atom in small:
        while position < len(large) and large[position].serial < atom.serial:
            position += 1
        if position == len(large) or large[position] is not atom:
            return False
        position += 1
    return True


def shared(a: tuple[Atom, ...], b: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The greatest common divisor of two products."""
    found = []
    position = 0
    for atom in a:
        while position < len(b) and b[position].serial < atom.serial:
            position += 1
        if position == len(b):
            break
        if b[position] is atom:
            found.append(atom)
            position += 1
    return tuple(found)


def without(product: tuple[Atom, ...], divisor: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The product divided by one that divides it."""
    rest = []
    position = 0
    for atom in product:
        if position < len(divisor) and divisor[position] is atom:
            position += 1
        else:
            rest.append(atom)
    return tuple(rest)
