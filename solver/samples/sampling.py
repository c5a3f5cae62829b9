"""Sampling for expression matching: assignments that satisfy the facts, and the values of expressions at them.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.samples.sampling import Probes, rows
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, 9)
    >>> column = Probes(rows(known, s, terms.true)).column(s * s)
    >>> column is not None and min(column) >= 4 and max(column) <= 81
    True

The samples of the facts are few and refute questions; these are many and distinguish expressions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from solver.knowledge.facts import Facts
from solver.knowledge.symbols import by_age
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

Column = tuple[int, ...]

ROWS: Final = 24
FEW_FACTS: Final = 80
"""With more facts, only the samples that the facts have are used."""
LARGEST: Final = 1 << 400


class Probes:
    """Assignments of symbols, and columns of values over them."""

    def __init__(self, rows: Sequence[Mapping[Atom, int]]) -> None:
        self.rows = rows
        self._columns: dict[Expr, Column | None] = {}

    def column(self, e: Expr) -> Column | None:
        """The values of an expression; None if one is too large to compute, or a symbol has none."""
        if e not in self._columns:
            try:
                found = tuple([e.evaluate(row) for row in self.rows])
                self._columns[e] = None if any(abs(value) > LARGEST for value in found) else found
            except (OverflowError, KeyError):
                self._columns[e] = None
        return self._columns[e]


def rows(facts: Facts, e: Expr, domain: Prop) -> list[dict[Atom, int]]:
    """Assignments of the declared symbols and of those of the expression, inside the domain."""
    rng = random.Random(1)
    base = [facts.samples.row_values(facts.all_symbols(), row) for row in facts.samples.alive]
    symbols = sorted(e.symbols, key=by_age)
    own = [atom for atom in symbols if atom.definition is None]
    for row in base:
        for atom in own:
            row.setdefault(atom, rng.randint(-9, 9))
    few = sum(1 for _ in islice(facts.records(), FEW_FACTS + 1)) <= FEW_FACTS
    made = moved(facts, base, own, rng) if few else iter(())
    kept: list[dict[Atom, int]] = []
    for row in interleaved(base, made):
        try:
            for atom in symbols:
                if atom.definition is not None:
                    row[atom] = atom.definition.evaluate(row)
            if row not in kept and domain.evaluate(row):
                kept.append(row)
        except OverflowError:
            continue
        if len(kept) == ROWS:
            break
    return kept


def interleaved(base: list[dict[Atom, int]], made: Iterator[dict[Atom, int]]) -> Iterator[dict[Atom, int]]:
    """The samples of the facts and variations of them, in turn."""
    for row in base:
        yield row
        yield from islice(made, 1)
    yield from made


def moved(
    facts: Facts, base: list[dict[Atom, int]], symbols: list[Atom], rng: random.Random
) -> Iterator[dict[Atom, int]]:
    """Samples with one or two of the symbols changed, where the facts still hold."""
    if not base or not symbols:
        return
    for _ in range(8 * ROWS):
        row = dict(rng.choice(base))
        for atom in rng.sample(symbols, min(len(symbols), rng.randint(1, 2))):
            lo, hi = facts.bounds(atom.expr)
            low = lo if lo is not None else (hi if hi is not None else 0) - 40
            row[atom] = rng.randint(low, min(hi if hi is not None else low + 80, low + 80))
        try:
            if facts.holds_at(row):
                yield row
        except OverflowError:
            continue
