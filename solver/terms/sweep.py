"""Sweep expressions without external references, so that memory stays bounded for any number of questions.

Expressions are hash-consed, so the interner holds every one ever made. `sweep` drops those that only the interner
refers to: first what it has memoized, then propositions, then expressions, then composite atoms that no surviving
expression mentions, with their monomials. Symbols stay.

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.sweep import size, sweep
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> kept = (s + 5) // 7
    >>> before = size(terms)
    >>> for k in range(100):
    ...     unused = (s * k + 3) // (k + 2)
    >>> del unused
    >>> sweep(terms)
    >>> size(terms) <= before + 10, (s + 5) // 7 is kept
    (True, True)

Whether somebody refers to a node is read off its reference count, less the references that the interner's own tables
make.
"""

from __future__ import annotations

from sys import getrefcount

from solver.terms.expr import Atom
from solver.terms.interner import Interner


def size(interner: Interner) -> int:
    """The number of nodes that the interner holds."""
    return len(interner.exprs) + len(interner.props) + len(interner.monomials)


def sweep(interner: Interner) -> None:
    """Drop what only the interner holds.

    Other threads may build expressions meanwhile: what they hold stays.
    """
    with interner.lock:
        interner.forget_operations()
        _sweep_props(interner)
        _sweep_exprs(interner)
        while _sweep_atoms(interner):
            _sweep_exprs(interner)


def _sweep_props(interner: Interner) -> None:
    constants = (interner.true, interner.false)
    for prop in list(interner.props.values()):
        if prop not in constants:
            prop.forget()
    # a compound refers to its parts, so dropping one may free others
    while True:
        # the table, the list, the loop variable and the call's argument
        dead = [key for key in list(interner.props) if getrefcount(interner.props[key]) <= 2]
        if not dead:
            return
        for key in dead:
            del interner.props[key]


def _sweep_exprs(interner: Interner) -> None:
    for e in list(interner.exprs.values()):
        e.forget()
    dead = [key for key in list(interner.exprs) if getrefcount(interner.exprs[key]) <= 2]
    for key in dead:
        del interner.exprs[key]


def _sweep_atoms(interner: Interner) -> bool:
    """Drop composite atoms that only their own expression mentions; return True if there were any."""
    mentioned: set[int] = set()
    own: dict[int, Atom] = {atom.monomial: atom for atom in interner.composites.values()}
    for e in list(interner.exprs.values()):
        if len(e.terms) == 1 and e.terms[0][0] in own and own[e.terms[0][0]].expr is e:
            if getrefcount(e) > 5:  # the table, the list, the atom, the loop variable, the call's argument
                mentioned.add(e.terms[0][0])
            continue
        mentioned.update([m for m, _ in e.terms])
    alive: set[Atom] = {atom for e in interner.named for atom in e.atoms}
    for m in mentioned:
        alive.update(interner.monomials[m])
    dead = {atom for atom in interner.composites.values() if atom not in alive}
    if not dead:
        return False
    for key in [key for key, atom in interner.composites.items() if atom in dead]:
        atom = interner.composites.pop(key)
        interner.exprs.pop((atom.expr.terms, atom.expr.constant), None)
    interner.drop_monomials(dead)
    return True
