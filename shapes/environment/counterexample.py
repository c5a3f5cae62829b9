"""Sizes at which a question is false, small ones, for an answer that is not `Always`.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, world = env.sizes("n world", lo=1)
    >>> with env.for_all("r", 0, world) as r:
    ...     found = env.counterexample(env.ask(r * 4 < n))
    >>> found
    {'r': 1, 'n': 1, 'world': 2}

An open question has them; of one that is never true every assignment is one, also of the symbols that its normal form
has lost.
"""

from __future__ import annotations

from collections.abc import Collection

from shapes.environment.ledger import Ledger
from shapes.environment.shrink_assignment import shrink_assignment
from solver.decide.verdict import Depends, Never, Verdict
from solver.terms.expr import Atom


def counterexample(ledger: Ledger, verdict: Verdict, about: Collection[Atom] = ()) -> dict[str, int] | None:
    """Values by name, of the bound variables first; also of the symbols that the question is `about`, and of all where
    it has none. None where none were found.
    """
    facts, ranges, declared = ledger.facts, ledger.ranges, ledger.table.symbols
    first = [each.variable for each in ranges]
    shown = {*(verdict.prop.symbols or about or declared), *verdict.domain.symbols, *about}
    for each in ranges:
        if each.variable in shown:
            shown |= each.low.symbols | each.high.symbols
    match verdict:
        case Depends():
            values = verdict.false_values
        case Never():
            found = facts.witness()
            if found is None or not verdict.domain.evaluate(found):
                return None
            symbols = [*[atom for atom in declared if atom not in first], *first]
            targets = {atom: declared[atom].lo or 0 for atom in symbols}
            values = shrink_assignment(found, targets, lambda at: verdict.domain.evaluate(at) and facts.holds_at(at))
        case _:
            return None
    order = [*first, *[atom for atom in declared if atom not in first]]
    return {atom.name: values[atom] for atom in order if atom in shown}
