"""Equality elimination: systems in current coordinates, rows in lowest terms, the tightest of parallel rows.

An equality with a coefficient +-1 eliminates a variable. Without one, Euclid's algorithm on all coefficients at once (a
unimodular shear) produces one (Knuth, TAOCP 4.5.2). Two opposite rows that meet, f >= 0 and -f >= 0, are an equality.
Each row carries the parts it is a sum of, so a contradiction is a certificate.

    >>> from solver.integer.certificate import Row
    >>> from solver.integer.work_budget import Limits
    >>> even = Row(((0, 2), (1, -4)), -1, True)           # 2*x - 4*y == 1
    >>> system = System.of_question([even], WorkBudget(Limits()))
    >>> system.tidy()
    Contradiction(parts=((0, 1),))
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from solver.integer.certificate import Pairs, Row
from solver.integer.derivation import Contradiction, Journal, Parts, scaled
from solver.integer.lattice import Change, Rebase, Removal, Shear, Vector
from solver.integer.work_budget import WorkBudget


class Inequality(NamedTuple):
    """`vector >= 0` in the current coordinates.

    As forms in the question's variables, it equals the sum of `parts`.
    """

    vector: Vector
    parts: Parts


class System:
    """Inequalities over `width` integer coordinates, with the way back to the question's variables.

    `goal` is a form to bound: minus an objective, plus the parts that eliminations have added to it. Vectors are
    immutable, so that copying a system is cheap.
    """

    __slots__ = ("budget", "change", "equalities", "goal", "inequalities", "journal", "width")

    def __init__(self, journal: Journal, budget: WorkBudget, width: int, change: Change | None) -> None:
        self.journal = journal
        self.budget = budget
        self.width = width
        self.change = change
        self.inequalities: list[Inequality] = []
        self.equalities: list[Inequality] = []
        self.goal: Inequality | None = None

    @classmethod
    def of_question(cls, rows: Sequence[Row], budget: WorkBudget, goal: Pairs | None = None) -> System:
        width = 0
        for pairs in [row[0] for row in rows] if goal is None else [*[row[0] for row in rows], goal]:
            for variable, _ in pairs:
                if variable >= width:
                    width = variable + 1
        system = cls(Journal(len(rows)), budget, width, None)
        for number, (pairs, constant, equality) in enumerate(rows):
            vector = [0] * (width + 1)
            vector[0] = constant
            for variable, coefficient in pairs:
                vector[variable + 1] = coefficient
            kind = system.equalities if equality else system.inequalities
            kind.append(Inequality(vector, ((number, 1),)))
        if goal is not None:
            vector = [0] * (width + 1)
            for variable, coefficient in goal:
                vector[variable + 1] = -coefficient
            system.goal = Inequality(vector, ())
        return system

    def copy(self) -> System:
        other = System(self.journal, self.budget, self.width, self.change)
        other.inequalities = list(self.inequalities)
        return other

    def sum(self, multipliers: Sequence[tuple[int, int]]) -> Parts:
        """The parts of a sum of multiples of inequalities."""
        return tuple([part for number, m in multipliers for part in scaled(self.inequalities[number].parts, m)])

    def tidy(self) -> Contradiction | None:
        """Eliminate equalities, given or implied by opposite rows, until none is left; bring rows to lowest terms."""
        while self.equalities:
            contradiction = self._use_equality()
            if contradiction is not None:
                return contradiction
        while True:
            contradiction = self._merge()
            if contradiction is not None:
                return contradiction
            meeting = self._meeting()
            if meeting is None:
                return None
            low, high = meeting
            if low.vector[0] + high.vector[0] < 0:
                return Contradiction(low.parts + high.parts)
            self._eliminate(low.vector, low.parts, high.parts)

    def _use_equality(self) -> Contradiction | None:
        vector, parts = self.equalities.pop(0)
        content = gcd(*vector[1:])
        if content == 0:
            return Contradiction(parts) if vector[0] else None
        if vector[0] % content:
            return Contradiction(parts)
        if content > 1:
            vector = [c // content for c in vector]
        if content > 1 or len(parts) > 1:
            parts = ((self.journal.derive(parts), 1),)
        self._eliminate(vector, parts, scaled(parts, -1))
        return None

    def _eliminate(self, vector: Vector, positive: Parts, negative: Parts) -> None:
        """Use `vector == 0` (of content 1), where `positive` derives vector >= 0 and `negative` -vector >= 0."""
        while 1 not in vector[1:] and -1 not in vector[1:]:
            shear = self._shear_by(vector)
            vector = shear.vector(vector)
            self.change = shear
            self._rewrite(shear)
        pivot = next(i for i in range(self.width, 0, -1) if vector[i] == 1 or vector[i] == -1)
        unit = vector[pivot]
        sides = (positive, negative)
        self.budget.spend((len(self.inequalities) + len(self.equalities)) * len(vector))

        def substituted(row: Inequality) -> Inequality:
            old, parts = row
            factor = -unit * old[pivot]
            if factor == 0:
                return Inequality(old[:pivot] + old[pivot + 1 :], parts)
            new = [a + factor * b for a, b in zip(old, vector)]
            del new[pivot]
            return Inequality(new, parts + scaled(sides[factor < 0], abs(factor)))

        self.inequalities = [substituted(row) for row in self.inequalities]
        self.equalities = [substituted(row) for row in self.equalities]
        if self.goal is not None:
            self.goal = substituted(self.goal)
        definition = [-unit * c for c in vector]
        del definition[pivot]
        self.change = Removal(self.change, pivot - 1, definition)
        self.width -= 1

    def _shear_by(self, vector: Vector) -> Shear:
        smallest = min((i for i in range(1, len(vector)) if vector[i]), key=lambda i: abs(vector[i]))
        divisor = vector[smallest]
        # the nearest quotient: remainders at least halve
        quotients = [(2 * c + divisor) // (2 * divisor) for c in vector[1:]]
        quotients[smallest - 1] = 0
        return Shear(self.change, smallest - 1, quotients)

    def _rewrite(self, change: Shear | Rebase) -> None:
        self.budget.spend((len(self.inequalities) + len(self.equalities)) * (self.width + 1))
        self.inequalities = [Inequality(change.vector(vector), parts) for vector, parts in self.inequalities]
        self.equalities = [Inequality(change.vector(vector), parts) for vector, parts in self.equalities]
        if self.goal is not None:
            self.goal = Inequality(change.vector(self.goal.vector), self.goal.parts)

    def rebase(self, basis: list[list[int]], dual: list[list[int]]) -> None:
        """Use the coordinates of another basis."""
        change = Rebase(self.change, basis, dual)
        self.change = change
        self._rewrite(change)

    def discard(self, position: int) -> None:
        """Fix a coordinate that occurs in no row at 0."""
        cut = position + 1
        self.inequalities = [Inequality(v[:cut] + v[cut + 1 :], parts) for v, parts in self.inequalities]
        self.width -= 1
        self.change = Removal(self.change, position, [0] * (self.width + 1))

    def _merge(self) -> Contradiction | None:
        """Divide rows by their content, rounding; keep the strongest of rows with the same coefficients."""
        best: dict[tuple[int, ...], Inequality] = {}
        self.budget.spend(len(self.inequalities) * (self.width + 20))
        for row in self.inequalities:
            vector, parts = row
            content = gcd(*vector[1:])
            if content != 1:
                if content == 0:
                    if vector[0] < 0:
                        return Contradiction(parts)
                    continue
                vector = [c // content for c in vector]
                row = Inequality(vector, ((self.journal.derive(parts), 1),))
            direction = tuple(vector[1:])
            other = best.get(direction)
            if other is None or vector[0] < other.vector[0]:
                best[direction] = row
        self.inequalities = list(best.values())
        return None

    def _meeting(self) -> tuple[Inequality, Inequality] | None:
        """Two opposite rows that leave one value, or none, for their form."""
        seen: dict[tuple[int, ...], Inequality] = {}
        for row in self.inequalities:
            vector = row.vector
            other = seen.get(tuple([-c for c in vector[1:]]))
            if other is not None and other.vector[0] + vector[0] <= 0:
                return other, row
            seen[tuple(vector[1:])] = row
        return None
