"""Substitution and evaluation of symbolic numbers by the names of their symbols.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> (b * s).substitute(b=4), (b * s).substitute(b=s + 1), (b * s > 7).substitute(b=4, s=8)
    (4*s, s**2 + s, True)
    >>> (b / s).substitute(b=4), (b / s).substitute(b=4, s=8)
    (truediv(4, s), 0.5)
    >>> (b * s).evaluate(b=4, s=8), (b / s).evaluate(b=4, s=8), (b > s).evaluate({"b": 4, "s": 8})
    (32, 0.5, False)
    >>> (b // s).evaluate(b=4, s=0)
    Traceback (most recent call last):
    solver.errors.Undefined: `b//s` is undefined at b=4, s=0: it needs `s != 0`

Both are arithmetic: they ask nothing, and do not mind what is known about the symbols.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from shapes.accepted import did_you_mean, is_truth, shown, whole_number
from shapes.errors import ShapeError, Undefined
from shapes.symbolic.operations import Interning
from solver.syntax.short_text import sizes_text
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Named(Interning, Protocol):
    """An environment, as far as it knows the names of its symbols."""

    @property
    def names(self) -> Mapping[str, Expr]: ...


def atoms_of(env: Named, sizes: Mapping[str, object]) -> dict[Atom, object]:
    """The value given for each symbol.

    Raises:
        ShapeError: a name is that of no symbol.
    """
    found: dict[Atom, object] = {}
    for name, size in sizes.items():
        symbol = env.names.get(name)
        if symbol is None:
            known = ", ".join(env.names) or "none"
            raise ShapeError(f"{name}={shown(size)}: no such symbol; there are {known}{did_you_mean(name, env.names)}")
        (atom,) = symbol.symbols
        found[atom] = size
    return found


def whole_numbers(env: Named, sizes: Mapping[str, object]) -> dict[Atom, int]:
    """An assignment; truth values count as 0 and 1, as in Python."""
    return {
        atom: int(bool(size)) if is_truth(size) else whole_number(atom.name, size)
        for atom, size in atoms_of(env, sizes).items()
    }


def check_defined(shown_as: object, symbols: frozenset[Atom], domain: Prop, values: Mapping[Atom, int]) -> None:
    """Raise where an assignment leaves a symbol open or is outside the domain.

    Raises:
        ShapeError: a symbol has no value.
        Undefined: Python would raise an error there.
    """
    missing = [atom.name for atom in sorted(symbols | domain.symbols, key=_age) if atom not in values]
    if missing:
        raise ShapeError(f"`{shown_as}` needs a value for {', '.join(missing)}; `substitute` leaves symbols open")
    if not domain.evaluate(values):
        concerned = sorted(symbols | domain.symbols, key=_age)
        at = sizes_text({atom.name: values[atom] for atom in concerned})
        raise Undefined(f"`{shown_as}` is undefined at {at}: it needs `{domain}`")


def _age(atom: Atom) -> int:
    return atom.serial
