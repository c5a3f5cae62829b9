"""Rules that take a size as a number although a formula would do: they hold for one example at a time.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.questions import asked
    >>> from shapes.testing.specializing import Specializations
    >>> def halve(env, x):
    ...     return (int(x[0]) // 2,)
    >>> rule, found = Rule("halve", halve), Specializations(("x",))
    >>> for n in range(4, 13):
    ...     found.keep(Call((Input((n,)),)), ((n // 2,),), asked(rule, Call((Input((n,)),))))
    >>> for each in found:
    ...     print(each.name, each.values, each.formulas)
    x[0] (4, 5, 6, 7, 8, 9, 10, 11, 12) (['x[0] // 2'],)

A rule whose result has more axes or outputs for a larger size must take it as a number, and one that looks a size up
may; neither is found, since at each number of axes there is one value, or no formula fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call
from shapes.testing.directed.integers import Path, named_places, structure_of
from shapes.testing.directed.questions import Run
from shapes.testing.formulas import fitted
from solver.terms.expr import Atom

LEAST: Final = 4
"""The number of values of a size that a formula must fit."""
CALLS: Final = 8
ENOUGH: Final = 24


@dataclass(frozen=True)
class Specialization:
    """A size that a rule took as a number in several calls, and the formulas that give the sizes of its results."""

    name: str
    values: tuple[int, ...]
    formulas: tuple[list[str] | None, ...]
    call: Call
    expected: Sizes


class Specializations:
    """The sizes that a rule took as numbers, by the structure of calls."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.kept: dict[str, list[tuple[Call, Sizes, frozenset[Path]]]] = {}

    def keep(self, call: Call, expected: Sizes, run: Run) -> None:
        """Keep an accepted call."""
        ranks = [one and len(one) for one in expected]
        kept = self.kept.setdefault(f"{structure_of(call)} {ranks}", [])
        if len(kept) < ENOUGH:
            kept.append((call, expected, pinned(run)))

    def __iter__(self) -> Iterator[Specialization]:
        """The specializations that were not needed."""
        for kept in self.kept.values():
            if len({repr(each[0]) for each in kept}) < CALLS:
                continue
            for path in sorted(frozenset.intersection(*[each[2] for each in kept]), key=str):
                found = self._unneeded(kept, path)
                if found is not None:
                    yield found

    def _unneeded(self, kept: list[tuple[Call, Sizes, frozenset[Path]]], path: Path) -> Specialization | None:
        rows = [{name: place.value for name, place in named_places(call, self.names)} for call, _, _ in kept]
        name = next(name for name, place in named_places(kept[0][0], self.names) if place.path == path)
        values = tuple(sorted({row[name] for row in rows}))
        if len(values) < LEAST:
            return None
        formulas: list[list[str] | None] = []
        for place, one in enumerate(kept[0][1]):
            if one is None:
                formulas.append(None)
                continue
            axes = []
            for axis in range(len(one)):
                formula = fitted(rows, [(sizes[place] or ())[axis] for _, sizes, _ in kept])
                if formula is None:
                    return None
                axes.append(formula)
            formulas.append(axes)
        call, expected, _ = min(kept, key=lambda each: (len(repr(each[0])), repr(each[0])))
        return Specialization(name, values, tuple(formulas), call, expected)


def pinned(run: Run) -> frozenset[Path]:
    """The places of sizes that a run took as numbers: by Python, or by a question that one value alone answers."""
    atoms: dict[Atom, Path] = {atom: path for path, atom in run.symbols.items() if atom.name.startswith("s")}
    paths = set(run.specialized) & set(atoms.values())
    for prop in run.path:
        if prop.kind == "eq" and len(prop.symbols) == 1:
            (atom,) = prop.symbols
            if atom in atoms and prop.expr.degree == 1 and not prop.expr.schedule:
                paths.add(atoms[atom])
    return frozenset(paths)
