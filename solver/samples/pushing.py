"""Repair of a sample along difference constraints: what a moved symbol violates moves on in the same direction.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.samples.pushing import Pushing
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> offsets = [terms.symbol(f"o{i}") for i in range(9)]
    >>> known = Facts.empty(terms)
    >>> for offset in offsets:
    ...     known = known.declare_range(offset, 0, None, hint=0)
    >>> for first, second in zip(offsets[1:], offsets[2:]):
    ...     known = known.learn_prop(terms.le(first, second))
    >>> moved = Pushing(known, known.samples, 0).reach(terms.lt(offsets[0], offsets[1]))
    >>> [moved[offset.atom] for offset in offsets[1:]]
    [1, 2, 4, 7, 11, 16, 22, 29]

All move down, or else all up. To make room for further facts about them, each moves by one more than the one before
it: exact repairs would be repeated for the whole chain each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from solver.integer.work_budget import WorkBudget
from solver.knowledge.facts import Facts
from solver.knowledge.samples import Samples
from solver.samples.variation import Variation
from solver.terms.deadline import look
from solver.terms.expr import Atom
from solver.terms.prop import Prop

TERMS: Final = 4
MOVES: Final = 2048
CROWD: Final = 96
"""Facts about one symbol beyond which it is not moved."""
EVALUATED: Final = 20
"""The cost of a fact evaluated, in units of the linear solver's work."""


class Pushing(Variation):
    """One repair of one row, charged to a work budget."""

    __slots__ = ("budget", "room")

    def __init__(
        self, facts: Facts, samples: Samples, row: int, *, room: bool = True, budget: WorkBudget | None = None
    ) -> None:
        super().__init__(facts, samples, row)
        self.budget = budget
        self.room = room  # whether to make room for further facts

    def reach(self, goal: Prop) -> dict[Atom, int] | None:
        """The changed symbols of an assignment that satisfies the goal, a difference constraint, and the facts."""
        if not is_linear(goal):
            return None
        for sign in (-1, 1):
            moved = self.pushed(goal, sign)
            if moved is not None:
                return moved
        return None

    def pushed(self, goal: Prop, sign: int) -> dict[Atom, int] | None:
        """The changed symbols if all move up (`sign` 1) or down (-1)."""
        moved: dict[Atom, int] = {}
        violated = deque([goal])
        for moves in range(MOVES):
            while violated and self.holds(violated[0], moved):
                violated.popleft()
            if not violated:
                # further moves may have violated the goal again, which is no fact
                return moved if self.holds(goal, moved) else None
            atom = self.move(violated[0], sign, moves if self.room else 0, moved)
            if atom is None:
                return None
            touching = self.samples.touching.get(atom.serial)
            count = 0 if touching is None else touching.count
            if count > CROWD:
                return None
            if self.budget is not None:
                look()
                self.budget.work -= EVALUATED * (count + 1)
                if self.budget.work <= 0:
                    return None
            while touching is not None:
                for p in (touching.fact.domain, touching.fact.prop):
                    for part in conjuncts(p):
                        if not self.holds(part, moved):
                            if not is_linear(part):
                                return None
                            violated.append(part)
                touching = touching.rest
        return None

    def move(self, p: Prop, sign: int, extra: int, moved: dict[Atom, int]) -> Atom | None:
        """Move one symbol of a violated constraint until it holds, and further if there is room."""
        missing = -self.polynomial(p.expr, moved)
        for m, c in sorted(p.terms, key=lambda term: p.interner.monomial_keys[term[0]]):
            (atom,) = p.interner.monomials[m]
            if c * sign < 0 or not self.is_free(atom):
                continue
            needed = -(-missing // abs(c))
            lo, hi = self.samples.limits.get(atom.serial) or (None, None)
            for step in (needed + extra, needed):
                value = self.value(atom, moved) + sign * step
                if (lo is None or value >= lo) and (hi is None or value <= hi):
                    moved[atom] = value
                    return atom
        return None

    def is_free(self, atom: Atom) -> bool:
        """Return True if no equality ties the symbol to others."""
        if atom.kind != "symbol" or atom.definition is not None or self.samples.columns.get(atom.serial) is None:
            return False
        return self.facts.solved.get(atom.monomial) is None and self.samples.dependents.get(atom.serial) is None


def conjuncts(p: Prop) -> Iterable[Prop]:
    return p.parts if p.kind == "and" else (p,)


def is_linear(p: Prop) -> bool:
    """Return True for an inequality over few symbols."""
    return p.kind == "ge" and len(p.terms) <= TERMS and not p.schedule and p.expr.degree == 1
