"""Replenish the samples when a new fact refutes most of them: rows are repaired, by pushing or by local search.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.samples.replenish import replenished
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 999).declare_range(y, 0, 999)
    >>> fact = known.next_fact(terms.eq(x * 7 + y, 901))
    >>> left = known.samples.assume(fact, [])
    >>> len(left.alive) < len(replenished(known.samples, left, known, fact).alive)
    True
"""

from __future__ import annotations

from typing import Final

from solver.integer.work_budget import WorkBudget
from solver.knowledge.facts import Facts
from solver.knowledge.samples import Samples
from solver.knowledge.start_values import ROWS
from solver.proofs.fact import Fact
from solver.samples.pushing import Pushing
from solver.samples.repair import Search

REPAIRED: Final = 2
"""Rows repaired for a new fact, where some satisfy it; twice as many where none does."""


def replenished(
    before: Samples, samples: Samples, facts: Facts, fact: Fact, *, budget: WorkBudget | None = None
) -> Samples:
    """The samples that a new fact has left, with repaired ones where these are few and the budget allows it."""
    if len(samples.alive) >= before.enough:
        return samples
    wanted = REPAIRED if samples.alive else 2 * REPAIRED
    candidates = [row for row in before.alive if row not in samples.alive]
    if not candidates and not samples.alive:
        candidates = list(range(ROWS))
    columns = None
    rows: list[int] = []
    for row in candidates:
        if not wanted:
            break
        values = None
        if before.alive and fact.domain.kind == "true":
            values = Pushing(facts, samples, row, budget=budget).reach(fact.prop)
        if values is None:
            search = Search(facts, samples, row, effort=2 if samples.alive or rows else 5, budget=budget)
            values = search.reach([fact.domain, fact.prop] if before.alive else None)
        if values is None:
            continue
        columns = columns or samples.columns.draft()
        for atom, value in values.items():
            column = list(columns.get(atom.serial) or ())
            column[row] = value
            columns.set(atom.serial, tuple(column))
        rows.append(row)
        wanted -= 1
    if columns is not None:
        samples.columns = columns
        samples.cache = {}
        samples.alive = tuple(sorted((*samples.alive, *rows)))
    return samples
