"""Sizes that one guard alone rejects, found beside the sizes at hand.

    >>> from shapes.rejection import rejected_alone
    >>> from solver.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> (left,), (right,) = b.symbols, s.symbols
    >>> found = rejected_alone({left: 4, right: 128}, [terms.ge(s, 65), terms.ge(s, 4), terms.eq(b, 4)], [])
    >>> [None if values is None else (values[left], values[right]) for values in found]
    [(4, 64), None, (5, 128)]

A guard with such sizes follows from nothing else, and no proof is needed to say so. Where none were found nothing is
said: `s >= 4` follows from `s >= 65` here, which only a proof shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from shapes.edges import moved
from solver.expr import Atom
from solver.prop import Prop

FAR: Final = 1 << 16


def rejected_alone(
    hints: Mapping[Atom, int], guards: Sequence[Prop], known: Sequence[Prop]
) -> list[dict[Atom, int] | None]:
    """For each guard, sizes that it rejects and all others and what is `known` accept, as far as they are found by
    changing one size."""
    nothing: list[dict[Atom, int] | None] = [None] * len(guards)
    conditions = [*guards, *known]
    try:
        if not all(condition.evaluate(hints) for condition in conditions):
            return nothing
        about: dict[Atom, list[int]] = {}
        for place, condition in enumerate(conditions):
            for atom in condition.symbols:
                about.setdefault(atom, []).append(place)
        return [_alone(hints, conditions, place, about) for place in range(len(guards))]
    except (KeyError, OverflowError):  # a symbol without a hint, or a power too large to evaluate
        return nothing


def _alone(
    hints: Mapping[Atom, int], conditions: Sequence[Prop], place: int, about: Mapping[Atom, Sequence[int]]
) -> dict[Atom, int] | None:
    """Sizes that the condition at this place alone rejects: only those about the same symbol can change with it."""
    guard = conditions[place]
    for atom in sorted(guard.symbols, key=lambda atom: (len(about[atom]), atom.serial)):
        others = [conditions[other] for other in about[atom] if other != place]

        def accepted(values: Mapping[Atom, int], others: Sequence[Prop] = others) -> bool:
            return not guard.evaluate(values) and all(other.evaluate(values) for other in others)

        for value in _beside(guard, hints, atom):
            values = {**hints, atom: value}
            if accepted(values):
                return moved(values, {atom: hints[atom]}, accepted)
    return None


def _beside(guard: Prop, hints: Mapping[Atom, int], atom: Atom) -> tuple[int, ...]:
    """Values of a symbol at which a guard that holds at the hints may fail."""
    value = hints[atom]
    match guard.kind:
        case "eq":
            return value + 1, value - 1, FAR
        case "ne":
            here = guard.expr.evaluate(hints)
            slope = guard.expr.evaluate({**hints, atom: value + 1}) - here
            return (value - here // slope,) if slope and here % slope == 0 else ()
        case _:
            return value - 1, value + 1, value // 2, 2 * value, 1, 0, FAR, FAR * FAR
