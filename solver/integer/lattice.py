"""Unimodular changes of coordinates, and lattice basis reduction (LLL).

While searching, the variables x of the question are replaced step by step: an equality removes a variable, a unimodular
change of basis makes a thin polyhedron round. Each change maps points and linear forms back, so that points and the
branches of certificates are in terms of x. Inequalities are not mapped back: a unimodular change keeps the gcd of the
coefficients, hence every rounding.

    >>> x = Shear(None, 0, [0, 2])               # x0 = y0 - 2*y1, x1 = y1
    >>> point_of(x, [7, 3]), form_of(x, [1, 0])  # y0 is x0 + 2*x1
    ([1, 3], [1, 2])

`reduced` is the integral LLL algorithm on a Gram matrix, after Cohen, A Course in Computational Algebraic Number
Theory, algorithm 2.6.7. The first vectors of a reduced basis are short; the last coordinate is the thin direction
of the body (Lenstra 1983).
"""

from __future__ import annotations

from typing import Protocol

from solver.integer.work_budget import WorkBudget

SMALL = 8
"""Coordinates at most this large are small."""

Vector = list[int]
"""A form in the current coordinates: its constant, then a coefficient for each coordinate."""


class Change(Protocol):
    """A change of coordinates, from those of `parent` (None: the variables of the question) to new ones."""

    @property
    def parent(self) -> Change | None: ...

    def point(self, values: list[int]) -> list[int]:
        """The old coordinates of the point with these new ones."""

    def form(self, coefficients: list[int]) -> list[int]:
        """A homogeneous form in the new coordinates, written in the old ones."""


def point_of(change: Change | None, values: list[int]) -> list[int]:
    """The variables of the question at a point."""
    while change is not None:
        values = change.point(values)
        change = change.parent
    return values


def form_of(change: Change | None, coefficients: list[int]) -> list[int]:
    """A form in the variables of the question."""
    while change is not None:
        coefficients = change.form(coefficients)
        change = change.parent
    return coefficients


class Shear:
    """A shear: multiples of the other coordinates are added to the one at `position`."""

    __slots__ = ("parent", "position", "quotients")

    def __init__(self, parent: Change | None, position: int, quotients: list[int]) -> None:
        self.parent = parent
        self.position = position
        self.quotients = quotients

    def point(self, values: list[int]) -> list[int]:
        old = list(values)
        old[self.position] -= sum(q * v for q, v in zip(self.quotients, values))
        return old

    def form(self, coefficients: list[int]) -> list[int]:
        c = coefficients[self.position]
        return [a + c * q for a, q in zip(coefficients, self.quotients)] if c else coefficients

    def vector(self, vector: Vector) -> Vector:
        """An old form in the new coordinates."""
        c = vector[self.position + 1]
        return [vector[0], *[a - c * q for a, q in zip(vector[1:], self.quotients)]] if c else vector


class Removal:
    """The elimination of the coordinate at `position` by `definition`, a form in the others."""

    __slots__ = ("definition", "parent", "position")

    def __init__(self, parent: Change | None, position: int, definition: Vector) -> None:
        self.parent = parent
        self.position = position
        self.definition = definition

    def point(self, values: list[int]) -> list[int]:
        value = self.definition[0] + sum(c * v for c, v in zip(self.definition[1:], values))
        return [*values[: self.position], value, *values[self.position :]]

    def form(self, coefficients: list[int]) -> list[int]:
        return [*coefficients[: self.position], 0, *coefficients[self.position :]]


class Rebase:
    """New coordinates z with old = sum of z[j] * basis[j]; `dual[j]` is the form z[j] in the old coordinates."""

    __slots__ = ("basis", "dual", "parent")

    def __init__(self, parent: Change | None, basis: list[list[int]], dual: list[list[int]]) -> None:
        self.parent = parent
        self.basis = basis
        self.dual = dual

    def point(self, values: list[int]) -> list[int]:
        return _sum_of(values, self.basis)

    def form(self, coefficients: list[int]) -> list[int]:
        return _sum_of(coefficients, self.dual)

    def vector(self, vector: Vector) -> Vector:
        """An old form in the new coordinates."""
        old = vector[1:]
        return [vector[0], *[sum(map(int.__mul__, old, direction)) for direction in self.basis]]


class Drift:
    """A translation: a point moves along `ray` until it satisfies `rows`, which all grow along it."""

    __slots__ = ("parent", "ray", "rows")

    def __init__(self, parent: Change | None, ray: list[int], rows: list[Vector]) -> None:
        self.parent = parent
        self.ray = ray
        self.rows = rows

    def point(self, values: list[int]) -> list[int]:
        distance = 0
        for row in self.rows:
            value = row[0] + sum(c * v for c, v in zip(row[1:], values))
            growth = sum(c * r for c, r in zip(row[1:], self.ray))
            distance = max(distance, -(value // growth))
        return [v + distance * r for v, r in zip(values, self.ray)]

    def form(self, coefficients: list[int]) -> list[int]:
        return coefficients


class Settling:
    """A step to smaller points: each coordinate in turn moves towards 0 as far as `rows` allow."""

    __slots__ = ("parent", "rows")

    def __init__(self, parent: Change | None, rows: list[Vector]) -> None:
        self.parent = parent
        self.rows = rows

    def point(self, values: list[int]) -> list[int]:
        if max(map(abs, values), default=0) <= SMALL:
            return values
        values = list(values)
        slacks = [row[0] + sum(map(int.__mul__, row[1:], values)) for row in self.rows]
        # the largest first, twice, as one coordinate can make room for another
        for position in 2 * sorted(range(len(values)), key=lambda p: -abs(values[p])):
            value = values[position]
            step = abs(value)
            direction = -1 if value > 0 else 1
            for row, slack in zip(self.rows, slacks):
                change = direction * row[position + 1]
                if change < 0:
                    step = min(step, slack // -change)
            if step:
                values[position] += direction * step
                slacks = [s + direction * step * row[position + 1] for row, s in zip(self.rows, slacks)]
        return values

    def form(self, coefficients: list[int]) -> list[int]:
        return coefficients


def _sum_of(multipliers: list[int], vectors: list[list[int]]) -> list[int]:
    total = [0] * len(vectors[0]) if vectors else []
    for m, vector in zip(multipliers, vectors):
        if m:
            total = [t + m * v for t, v in zip(total, vector)]
    return total


def reduced(gram: list[list[int]], budget: WorkBudget) -> tuple[list[list[int]], list[list[int]]]:
    """A reduced basis of the lattice whose standard basis has this positive definite Gram matrix, and its dual basis.

    >>> from solver.integer.work_budget import Limits
    >>> reduced([[1, 0, 5], [0, 1, 7], [5, 7, 75]], WorkBudget(Limits()))[0]
    [[1, 0, 0], [0, 1, 0], [-5, -7, 1]]
    """
    size = len(gram)
    basis = [[int(i == j) for j in range(size)] for i in range(size)]
    dual = [[int(i == j) for j in range(size)] for i in range(size)]
    minor = [1] + [0] * size  # minor[i]: Gram determinant of the first i vectors
    mu = [[0] * size for _ in range(size)]  # mu[i][j]: minor[j + 1] times the Gram-Schmidt coefficient

    def subtract(k: int, j: int) -> None:
        q = (2 * mu[k][j] + minor[j + 1]) // (2 * minor[j + 1])
        if q:
            budget.spend(4 * size, minor[j + 1].bit_length())
            basis[k] = [a - q * b for a, b in zip(basis[k], basis[j])]
            dual[j] = [a + q * b for a, b in zip(dual[j], dual[k])]
            mu[k][j] -= q * minor[j + 1]
            for i in range(j):
                mu[k][i] -= q * mu[j][i]

    k = known = 0
    while k < size:
        if k == known:
            known += 1
            budget.spend((k + 1) * (k + 8), minor[k].bit_length())
            for j in range(k + 1):
                u = sum(map(int.__mul__, basis[j], gram[k]))
                for i in range(j):
                    u = (minor[i + 1] * u - mu[k][i] * mu[j][i]) // minor[i]
                if j < k:
                    mu[k][j] = u
                else:
                    minor[k + 1] = u
            if k == 0:
                k = 1
                continue
        subtract(k, k - 1)
        small = mu[k][k - 1]
        if 4 * minor[k + 1] * minor[k - 1] < 3 * minor[k] * minor[k] - 4 * small * small:
            budget.spend(8 * size, minor[k].bit_length())
            basis[k], basis[k - 1] = basis[k - 1], basis[k]
            dual[k], dual[k - 1] = dual[k - 1], dual[k]
            for j in range(k - 1):
                mu[k][j], mu[k - 1][j] = mu[k - 1][j], mu[k][j]
            changed = (minor[k - 1] * minor[k + 1] + small * small) // minor[k]
            for i in range(k + 1, known):
                row = mu[i]
                old = row[k]
                row[k] = (minor[k + 1] * row[k - 1] - small * old) // minor[k]
                row[k - 1] = (changed * old + small * row[k]) // minor[k + 1]
            minor[k] = changed
            k = max(1, k - 1)
        else:
            for j in range(k - 2, -1, -1):
                subtract(k, j)
            k += 1
    return basis, dual
