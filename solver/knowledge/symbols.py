"""The declared symbols behind expressions and propositions, in the order in which they were declared.

A symbol that names a composite atom stands for the symbols of its definition.
"""

from __future__ import annotations

from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


def by_age(atom: Atom) -> int:
    """A key that sorts atoms oldest first."""
    return atom.serial


def declared_symbols(e: Expr) -> list[Atom]:
    """The symbols that an expression depends on, with names of composite atoms resolved."""
    found: dict[Atom, None] = {}
    resolved: set[Expr] = set()  # definitions share names
    stack = [e]
    while stack:
        inner = stack.pop()
        if inner in resolved:
            continue
        resolved.add(inner)
        for atom in sorted(inner.symbols, key=by_age):
            if atom.definition is None:
                found[atom] = None
            else:
                stack.append(atom.definition)
    return list(found)


def declared_in(*props: Prop) -> list[Atom]:
    """The symbols of propositions, with names of composite atoms resolved."""
    found: dict[Atom, None] = {}
    for p in props:
        for atom in sorted(p.symbols, key=by_age):
            if atom.definition is None:
                found[atom] = None
            else:
                found.update(dict.fromkeys(declared_symbols(atom.definition)))
    return list(found)


def sources(e: Expr) -> list[Atom]:
    """The symbols of an expression, and those that the names among them stand for."""
    symbols = sorted(e.symbols, key=by_age)
    if all(atom.definition is None for atom in symbols):
        return symbols
    return list(dict.fromkeys([*declared_symbols(e), *symbols]))
