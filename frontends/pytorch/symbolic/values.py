"""Queries on symbolic numbers that torch's protocol needs and `shapes` lacks.

    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.values import largest, symbols_of
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=2)
    >>> [atom.name for atom in symbols_of(b * 2 + s)], largest(b, 1)
    (['b', 's'], b)
"""

from __future__ import annotations

from typing import Any, TypeAlias

from shapes.symbolic import choices
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.terms.expr import Atom, Expr

Value: TypeAlias = SymInt | SymFloat | SymBool | int | float | bool
AnyValue: TypeAlias = Any
"""A `Value` whose kind only torch knows: torch calls the methods of that kind alone, and is Any here."""


def symbols_of(value: Value) -> list[Atom]:
    """The symbols of a number in order of declaration."""
    match value:
        case SymInt(expr=expr):
            found = expr.symbols
        case SymBool(prop=prop):
            found = prop.symbols
        case SymFloat(value=program):
            found = frozenset().union(*[argument.symbols for argument in program.arguments])
        case _:
            found = frozenset()
    return sorted(found, key=lambda atom: atom.serial)


def holds_floats(expr: Expr) -> bool:
    """Return True if an expression converts floats to integers."""
    return any(atom.kind == "function" for atom in expr.atoms)


def largest(one: AnyValue, other: AnyValue) -> Value:
    """The maximum of two numbers, simplified by bounds."""
    for value, limit in ((one, other), (other, one)):
        if type(limit) is int and type(value) is SymInt:
            least, _ = value.env.known.bounds(value.expr)
            if least is not None and least >= limit:
                return value
    return choices.sym_max(one, other)
