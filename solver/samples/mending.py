"""Samples mended for a new fact, where it leaves few of those before it.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.samples.mending import mended
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 999).declare_range(y, 0, 999)
    >>> fact = known.next_fact(terms.eq(x * 7 + y, 901))
    >>> left = known.pool.assume(fact, [])
    >>> len(left.alive) < len(mended(known.pool, left, known, fact).alive)
    True
"""

from __future__ import annotations

from typing import Final

from solver.integer.work_budget import Meter
from solver.knowledge.facts import Facts
from solver.knowledge.samples import ROWS, Pool
from solver.proofs.fact import Fact
from solver.samples.repair import Search

MENDED: Final = 2
"""Samples that are mended for a new fact, where some satisfy it; twice as many where none does."""


def mended(before: Pool, pool: Pool, facts: Facts, fact: Fact, *, meter: Meter | None = None) -> Pool:
    """The samples that are left of those before a new fact, with others mended where these are few, with what the meter
    has left.
    """
    if len(pool.alive) >= before.enough:
        return pool
    wanted = MENDED if pool.alive else 2 * MENDED
    candidates = [row for row in before.alive if row not in pool.alive] or ([] if pool.alive else list(range(ROWS)))
    columns = None
    rows: list[int] = []
    for row in candidates:
        if not wanted:
            break
        search = Search(facts, pool, row, effort=2 if pool.alive or rows else 5, meter=meter)
        values = search.reach([fact.domain, fact.prop] if before.alive else None)
        if values is None:
            continue
        columns = columns or pool.columns.draft()
        for atom, value in values.items():
            column = list(columns.get(atom.serial) or ())
            column[row] = value
            columns.set(atom.serial, tuple(column))
        rows.append(row)
        wanted -= 1
    if columns is not None:
        pool.columns = columns
        pool.cache = {}
        pool.alive = tuple(sorted((*pool.alive, *rows)))
    return pool
