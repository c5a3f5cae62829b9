"""Exhaustive enumeration: every assignment of symbols with few values each, one column per expression.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 15).declare_range(y, 0, 15)
    >>> decide(known, terms.le(terms.bit_or(x, y), 15)).rung
    'box'

Facts about the same symbols exclude assignments. One that no fact excludes and that falsifies the goal is tried as a
witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_bound
from solver.knowledge.facts import Facts
from solver.proofs.step import ProofStep, boxed
from solver.rungs.prover import Prover
from solver.samples.table import Table
from solver.terms.expr import Atom
from solver.terms.prop import Prop

VOLUME: Final = {"fast": 64, "default": 4096, "thorough": 8192}
"""Largest number of assignments enumerated."""
CONSTRAINTS: Final = 24
TRIED: Final = 3


def prove(prover: Prover, facts: Facts, goal: Prop, depth: int) -> ProofStep | None:
    """The goal, true at every assignment of its symbols that the facts about them allow."""
    del depth
    return exhaust(prover, facts, goal, goal.symbols)


def exhaust(prover: Prover, facts: Facts, goal: Prop, symbols: frozenset[Atom]) -> ProofStep | None:
    """The goal, or false, by enumerating some symbols, and their neighbours where those have few values too."""
    chosen = sorted(symbols, key=lambda atom: atom.key)
    volume = 1
    for atom in chosen:
        volume *= _size(facts, atom) or VOLUME["thorough"] + 1
        if volume > VOLUME[prover.effort]:
            return None
    while True:
        prover.work -= volume * (len(goal.schedule) + len(chosen) + 4)
        if prover.work <= 0 or not chosen:
            return None
        sides = [_side(facts, atom) for atom in chosen]
        try:
            table = Table(chosen, sides)
            truth = table.truths(goal)
            left = {i for i, holds in enumerate(truth) if not holds}
            used = _constraints(facts, chosen, table, left) if left else []
        except OverflowError:
            return None
        if not left:
            return _proof(facts, goal, chosen, sides, used)
        for i in sorted(left)[:TRIED]:
            prover.consider_values({atom: table.columns[atom][i] for atom in chosen})
        wider = _widened(facts, chosen, VOLUME[prover.effort] // volume)
        if wider is None:
            return None
        chosen.append(wider)
        volume *= _size(facts, wider) or 1


def _side(known: Knowledge, atom: Atom) -> range:
    r = known.range_of(atom.monomial)
    assert r.lo is not None and r.hi is not None
    return range(r.lo, r.hi + 1)


def _size(known: Knowledge, atom: Atom) -> int | None:
    r = known.range_of(atom.monomial)
    return None if r.lo is None or r.hi is None else r.hi - r.lo + 1


def _entries(known: Knowledge, chosen: Sequence[Atom]) -> dict[Prop, ProofStep]:
    """The learned statements about these symbols, with their proofs."""
    found: dict[Prop, ProofStep] = {}
    for atom in chosen:
        uses = known.uses.get(atom.serial)
        for _ in range(CONSTRAINTS):
            if uses is None:
                break
            found.setdefault(uses.entry.prop, uses.entry.proof)
            uses = uses.rest
    return found


def _constraints(known: Knowledge, chosen: Sequence[Atom], table: Table, left: set[int]) -> list[ProofStep]:
    """Facts about these symbols alone that exclude the remaining assignments, those that exclude most first."""
    inside = set(chosen)
    excluding: list[tuple[set[int], ProofStep]] = []
    for p, proof in _entries(known, chosen).items():
        if p.symbols <= inside:
            truth = table.truths(p)
            excluded = {i for i in left if not truth[i]}
            if excluded:
                excluding.append((excluded, proof))
    used = []
    while left and excluding:
        best = max(excluding, key=lambda each: len(each[0] & left))
        gained = best[0] & left
        if not gained:
            break
        left -= gained
        used.append(best)
    # redundant beside later ones
    kept = list(used)
    for each in used:
        others = [other for other in kept if other is not each]
        if not left and others and each[0] <= set().union(*[other[0] for other in others]):
            kept = others
    return [proof for _, proof in kept]


def _widened(known: Knowledge, chosen: Sequence[Atom], room: int) -> Atom | None:
    """The neighbour with the fewest values."""
    candidates = {
        symbol: size
        for p in _entries(known, chosen)
        for symbol in p.symbols
        if symbol not in chosen and (size := _size(known, symbol)) is not None and size <= room
    }
    return min(candidates, key=lambda atom: (candidates[atom], atom.key)) if candidates else None


def _proof(
    known: Knowledge, goal: Prop, chosen: Sequence[Atom], sides: Sequence[range], used: Sequence[ProofStep]
) -> ProofStep:
    premises = []
    for atom, side in zip(chosen, sides, strict=True):
        premises.append(prove_bound(known, atom.monomial, True, side.start))
        premises.append(prove_bound(known, atom.monomial, False, side.stop - 1))
    return boxed(
        goal,
        premises,
        used,
        tuple([(atom, side.start, side.stop - 1) for atom, side in zip(chosen, sides, strict=True)]),
    )
