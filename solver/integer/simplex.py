"""The simplex method without fractions, on a dictionary (Chvátal 1983): nonbasic slacks are columns, basic ones rows.

The row `[d, c, t0, t1, ...]` of slack s says d*s == c + t0*s0 + t1*s1 + ..., with d > 0, over the slacks of the
columns, in lowest terms; so the vertex where all column slacks are 0 has s = c/d. A row with c < 0 and no t > 0 is a
contradiction of nonnegative slacks, and its numbers are the Farkas multipliers. The coordinates themselves are
free, are pivoted into the rows once at the start, and are left out from there on.

    >>> square = [[-1, 1, 0], [3, -1, 0], [-1, 0, 1], [3, 0, -1], [-7, 1, 1]]   # x and y in 1..3, x + y >= 7
    >>> from solver.integer.work_budget import Limits
    >>> Dictionary.of(square, 2, WorkBudget(Limits())).restore()
    [(3, 1), (4, 1), (1, 1)]

The rows 3, 4 and 1 add up to -1 >= 0.
"""

from __future__ import annotations

import itertools
from math import gcd, lcm
from typing import NamedTuple

from solver.integer.lattice import Vector
from solver.integer.work_budget import WorkBudget

PATIENCE = 30
"""Pivots by the greedy rule before Bland's rule, which cannot cycle, takes over."""


class Maximum(NamedTuple):
    """`numerator - denominator * goal` is the sum of these multiples of slacks, all >= 0."""

    numerator: int
    denominator: int
    multipliers: list[tuple[int, int]]

    @property
    def floor(self) -> int:
        return self.numerator // self.denominator


class Ray(NamedTuple):
    """An unbounded goal: it grows with the slack of the column at `place`, and no slack decreases."""

    place: int


class Dictionary:
    """The inequalities `vector >= 0`, solved for the slacks of the columns.

    `definitions` gives the coordinates over the slacks `initial`. `loose` says that some coordinate occurs in no vector
    (after a change of basis); it is taken to be 0. `goal`, if given, is a row that follows the pivots.
    """

    __slots__ = ("basis", "budget", "columns", "definitions", "goal", "initial", "loose", "rows", "unbounded_goal")

    budget: WorkBudget
    goal: list[int] | None
    rows: list[list[int]]
    basis: list[int]
    columns: list[int]
    definitions: list[list[int]]
    initial: list[int]
    loose: bool
    unbounded_goal: bool

    def __init__(self, budget: WorkBudget) -> None:
        self.budget = budget

    @staticmethod
    def of(vectors: list[Vector], width: int, budget: WorkBudget, goal: Vector | None = None) -> Dictionary:
        """The dictionary of some inequalities."""
        self = Dictionary(budget)
        self.goal = None
        budget.spend(len(vectors) * (width + 10))
        chosen = [-1] * width  # the row that bounds a coordinate from below, or else from above, becomes its column
        for number, vector in enumerate(vectors):
            if width - vector.count(0) + (vector[0] == 0) == 1:
                position = vector.index(1, 1) if 1 in vector[1:] else vector.index(-1, 1)
                if vector[position] == 1 or chosen[position - 1] < 0:
                    chosen[position - 1] = number
        base, sign = [0] * width, [1] * width
        for position, number in enumerate(chosen):
            if number >= 0:
                sign[position] = vectors[number][position + 1]
                base[position] = -sign[position] * vectors[number][0]
        self.columns = [number if number >= 0 else ~position for position, number in enumerate(chosen)]
        used = set(chosen)
        shifted, mirrored = any(base), -1 in sign

        def over_columns(vector: Vector) -> list[int]:
            coefficients = vector[1:]
            constant = vector[0]
            if shifted:
                constant += sum([a * b for a, b in zip(coefficients, base)])
            if mirrored:
                coefficients = [a * b for a, b in zip(coefficients, sign)]
            return [1, constant, *coefficients]

        self.basis = [number for number in range(len(vectors)) if number not in used]
        self.rows = [over_columns(vectors[number]) for number in self.basis]
        if goal is not None:
            self.goal = over_columns(goal)
        self.definitions = [[1, base[j], *[0] * width] for j in range(width)]
        for position in range(width):
            self.definitions[position][position + 2] = sign[position]
        self.loose = False
        self.unbounded_goal = False
        if -1 in used:
            self._solve_for_free()
        self.initial = list(self.columns)
        return self

    def _solve_for_free(self) -> None:
        """Pivot coordinates without a bound of their own into rows, and set these rows aside."""
        for position, column in enumerate(self.columns):
            if column >= 0:
                continue
            place = position + 2
            candidates = [
                (abs(row[place]), -row.count(0), i)
                for i, row in enumerate(self.rows)
                if row[place] and self.basis[i] >= 0
            ]
            if candidates:
                self.pivot(min(candidates)[2], place)
        free = [position for position, column in enumerate(self.columns) if column < 0]
        for position in reversed(free):
            self.loose = True
            place = position + 2
            if self.goal is not None:
                self.unbounded_goal = self.unbounded_goal or self.goal[place] != 0
                del self.goal[place]
            for row in self.rows:
                del row[place]
            for definition in self.definitions:
                del definition[place]
            self.definitions[~self.columns[position]] = [1, 0, *[0] * (len(self.columns) - 1)]
            del self.columns[position]
        for row, owner in zip(self.rows, self.basis):
            if owner < 0:
                self.definitions[~owner] = row
        self.rows = [row for row, owner in zip(self.rows, self.basis) if owner >= 0]
        self.basis = [owner for owner in self.basis if owner >= 0]

    def pivot(self, r: int, place: int) -> None:
        """Exchange the slack of row `r` with that of the column at `place`."""
        rows = self.rows
        row = rows[r]
        p = row[place]
        if p > 0:
            new = [-v for v in row]
            new[place] = row[0]
        else:
            new = row.copy()
            new[place] = -row[0]
            p = -p
        new[0] = 0
        touched = 1
        for i, other in enumerate(rows):
            f = other[place]
            if f and i != r:
                touched += 1
                rows[i] = _exchanged(other, new, p, f, place)
        self.budget.spend(10 + touched * (6 + len(row)), p.bit_length())
        if self.goal is not None and self.goal[place]:
            self.goal = _exchanged(self.goal, new, p, self.goal[place], place)
        new[0] = p
        if p > 1:
            content = gcd(*new)
            if content > 1:
                new = [v // content for v in new]
        rows[r] = new
        self.basis[r], self.columns[place - 2] = self.columns[place - 2], self.basis[r]

    def restore(self) -> list[tuple[int, int]] | None:
        """Pivot to a feasible vertex; or the multipliers of slacks whose sum is negative (Farkas)."""
        count = 0
        rows, basis, columns = self.rows, self.basis, self.columns
        while True:
            wrong = -1
            worst = 0
            if count < PATIENCE:
                for i, row in enumerate(rows):
                    if row[1] < 0:
                        depth = row[1] // row[0]
                        if depth < worst:
                            wrong, worst = i, depth
            else:
                for i, row in enumerate(rows):
                    if row[1] < 0 and (wrong < 0 or basis[i] < basis[wrong]):
                        wrong = i
            if wrong < 0:
                return None
            row = rows[wrong]
            place = 0
            if count < PATIENCE:
                largest = 0
                for i in range(2, len(row)):
                    if row[i] > largest:
                        place, largest = i, row[i]
            else:
                for i in range(2, len(row)):
                    if row[i] > 0 and (place == 0 or columns[i - 2] < columns[place - 2]):
                        place = i
            if place == 0:
                return [(basis[wrong], row[0]), *[(c, -t) for c, t in zip(columns, row[2:]) if t]]
            self.pivot(wrong, place)
            count += 1

    def maximise(self, goal: list[int]) -> Maximum | Ray:
        """Pivot from a vertex until the row `goal` is maximal."""
        self.goal = goal
        rows, basis, columns = self.rows, self.basis, self.columns
        for count in itertools.count():
            goal = self.goal
            place = 0
            if count < PATIENCE:
                largest = 0
                for i in range(2, len(goal)):
                    if goal[i] > largest:
                        place, largest = i, goal[i]
            else:
                for i in range(2, len(goal)):
                    if goal[i] > 0 and (place == 0 or columns[i - 2] < columns[place - 2]):
                        place = i
            if place == 0:
                break
            leaving = -1
            up, down = 0, 1  # the smallest ratio so far
            for i, row in enumerate(rows):
                t = row[place]
                if t < 0:
                    difference = row[1] * down + up * t
                    if leaving < 0 or difference < 0 or (difference == 0 and basis[i] < basis[leaving]):
                        leaving, up, down = i, row[1], -t
            if leaving < 0:
                self.goal = None
                return Ray(place)
            self.pivot(leaving, place)
        self.goal = None
        return Maximum(goal[1], goal[0], [(column, -t) for column, t in zip(columns, goal[2:]) if t])

    def slack(self, number: int) -> list[int]:
        """A slack as a row over the columns."""
        if number in self.columns:
            row = [0] * (len(self.columns) + 2)
            row[0] = 1
            row[self.columns.index(number) + 2] = 1
            return row
        return self.rows[self.basis.index(number)]

    def over_columns(self, vector: Vector) -> list[int]:
        """A form in the coordinates as a row over the columns. Not for forms in loose coordinates."""
        common = lcm(*[d[0] for d, c in zip(self.definitions, vector[1:]) if c])
        first = [0] * (len(self.initial) + 1)
        first[0] = common * vector[0]
        for definition, c in zip(self.definitions, vector[1:]):
            if c:
                factor = c * (common // definition[0])
                first = [a + factor * b for a, b in zip(first, definition[1:])]
        parts = [(u, self.slack(number)) for u, number in zip(first[1:], self.initial) if u]
        denominator = lcm(*[row[0] for _, row in parts])
        total = [0] * (len(self.columns) + 1)
        total[0] = first[0] * denominator
        for u, row in parts:
            factor = u * (denominator // row[0])
            total = [a + factor * b for a, b in zip(total, row[1:])]
        result = [common * denominator, *total]
        content = gcd(*result)
        return [v // content for v in result] if content > 1 else result

    def copy(self) -> Dictionary:
        """A copy to pivot; rows are immutable."""
        other = Dictionary(self.budget)
        other.goal = self.goal
        other.initial, other.definitions = self.initial, self.definitions
        other.loose, other.unbounded_goal = self.loose, self.unbounded_goal
        other.rows, other.basis, other.columns = list(self.rows), list(self.basis), list(self.columns)
        return other

    def insert(self, number: int, row: list[int]) -> None:
        """Add an inequality: its slack, given over the columns."""
        self.rows.append(row)
        self.basis.append(number)

    def vertex(self) -> tuple[list[int], list[int]]:
        """Numerators and denominators of the coordinates of the vertex."""
        self.budget.spend(len(self.rows) + len(self.definitions) * (6 + len(self.columns)))
        values = dict(zip(self.basis, self.rows))
        common = 1
        for number in self.initial:
            if number in values:
                common = lcm(common, values[number][0])
        slacks = [
            values[number][1] * (common // values[number][0]) if number in values else 0 for number in self.initial
        ]
        numerators = []
        denominators = []
        for definition in self.definitions:
            numerators.append(definition[1] * common + sum([t * s for t, s in zip(definition[2:], slacks)]))
            denominators.append(definition[0] * common)
        return numerators, denominators

    def ray(self, place: int) -> list[int]:
        """An integer direction of the coordinates in which the slack of a column grows and none shrinks."""
        mover = self.columns[place - 2]
        values = dict(zip(self.basis, self.rows))
        common = lcm(*[row[0] for row in self.rows])
        growth = [
            values[number][place] * (common // values[number][0]) if number in values else common * (number == mover)
            for number in self.initial
        ]
        again = lcm(*[definition[0] for definition in self.definitions])
        direction = [
            sum([t * g for t, g in zip(definition[2:], growth)]) * (again // definition[0])
            for definition in self.definitions
        ]
        content = gcd(*direction)
        return [v // content for v in direction] if content > 1 else direction


def _exchanged(row: list[int], new: list[int], p: int, f: int, place: int) -> list[int]:
    """`row` with the slack at `place` replaced by its new row, which has denominator p."""
    if p == 1:
        result = [a + f * b for a, b in zip(row, new)]
        result[place] -= f
        return result
    common = gcd(p, f)
    if common > 1:
        p //= common
        f //= common
    result = [p * a + f * b for a, b in zip(row, new)]
    result[place] = f * new[place]
    content = gcd(*result)
    return [v // content for v in result] if content > 1 else result
