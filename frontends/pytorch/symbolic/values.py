"""Queries on symbolic numbers that torch's protocol needs and `shapes` lacks.

    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.values import largest, symbols_of
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=2)
    >>> [atom.name for atom in symbols_of(b * 2 + s)], largest(b, 1)
    (['b', 's'], b)
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from shapes.environment import layout
from shapes.symbolic import choices
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.terms.expr import Atom, Expr

Value: TypeAlias = SymInt | SymFloat | SymBool | int | float | bool
AnyValue: TypeAlias = Any
"""A `Value`, of which torch says which: it asks a number only what one of its kind answers, and torch is Any here."""


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


def channels_last_strides(sizes: Sequence[choices.Int], strides: Sequence[choices.Int]) -> choices.Truth:
    """Return True if the strides are ordered as in a channels-last tensor."""
    order = layout.CHANNELS_LAST.get(len(sizes))
    if order is None:
        return False
    conditions: list[choices.Truth] = [strides[1] != 0]
    least: choices.Int = 0
    for axis in order:
        conditions.append(sizes[axis] != 0)
        conditions.append(strides[axis] >= least)
        if axis == 0:
            # for N1H1 and the like the order is ambiguous: treated as contiguous
            conditions.append(choices.sym_not(choices.sym_and(strides[0] == strides[1], least == strides[1])))
        least = strides[axis] * choices.sym_max(sizes[axis], 1)
    return layout.simple(choices.sym_and(*[layout.simple(condition) for condition in conditions]))


def rounded(value: AnyValue, digits: int | None = None) -> AnyValue:
    return builtins.round(value) if digits is None else builtins.round(value, digits)
