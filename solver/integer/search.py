"""The decision procedure: a solution or a refutation of one system of inequalities.

Methods, cheapest first; what 5 and 6 change in the system restarts the order:

1. The rational relaxation, by simplex. If it is infeasible, the row that shows it is the proof (Farkas' lemma).
2. Its vertex, and the vertex rounded.
3. A vertex so far inside that rounding it gives a solution: wide bodies end here, with small solutions.
4. A few cutting planes (Chvátal-Gomory): rounded combinations of rows that the vertex violates.
5. Maximize each row. One that stays below 1 is an equality. An unbounded one is dropped: along a ray that decreases no
   other row, any solution of the rest reaches it. What is left is bounded (up to coordinates that no longer occur), so
   the search terminates also where plain branch and bound does not.
6. A reduced basis (Lenstra), the rows weighted by their maxima, makes the body round. Its rounded centre is tried; a
   width below 1 along a new coordinate is a refutation or an equality.
7. Branch and bound at the midpoint of the thinnest coordinate.

    >>> from solver.integer.certificate import Row
    >>> from solver.integer.work_budget import Limits, WorkBudget
    >>> frobenius = [Row(((0, 6), (1, 10), (2, 15)), -29, True)] + [Row(((i, 1),), 0, False) for i in range(3)]
    >>> explore(System.of_question(frobenius, WorkBudget(Limits())))     # 29 is the largest that 6, 10, 15 do not make
    Contradiction(parts=...)
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from solver.integer.derivation import Contradiction, Parts, Proof, Split, premises
from solver.integer.equalities import Inequality, System
from solver.integer.lattice import Drift, Settling, Vector, form_of, point_of, reduced
from solver.integer.simplex import Dictionary, Maximum, Ray
from solver.integer.work_budget import Exhausted

CUT_ROUNDS = 3
"""Cuts to try at a vertex. More lengthen the numbers and pay less than a better basis."""
DEPTH = 100
"""Depth of nested branches: far from Python's recursion limit."""

FINE = 24
"""Binary places of the coordinates of the centre of a body."""


def explore(system: System, *, depth: int = 0) -> Proof | list[int]:
    """A refutation, or a solution in the variables of the question."""
    if depth > DEPTH:
        raise Exhausted("depth")
    outermost = depth == 0
    while True:
        contradiction = system.tidy()
        if contradiction is not None:
            return contradiction
        if outermost:
            system.change = Settling(system.change, [vector for vector, _ in system.inequalities])
            outermost = False
        if not system.inequalities:
            return point_of(system.change, [0] * system.width)
        dictionary = Dictionary.of([vector for vector, _ in system.inequalities], system.width, system.budget)
        outcome = _vertex(system, dictionary)
        if outcome is None:
            outcome = _inner(system) or _cut(system, dictionary.copy())
        if outcome is not None:
            return outcome
        middle = _survey(system, dictionary)
        if middle is None:
            continue
        outcome = _round_off(system, middle, loose=dictionary.loose)
        if outcome is not None:
            return outcome
        dictionary = Dictionary.of([vector for vector, _ in system.inequalities], system.width, system.budget)
        outcome = _vertex(system, dictionary)
        if outcome is not None:
            return outcome
        widths = _widths(system, dictionary)
        if isinstance(widths, Contradiction):
            return widths
        if widths is None:
            continue
        return _branch(system, *widths, depth)


def _vertex(system: System, dictionary: Dictionary) -> Proof | list[int] | None:
    """The refutation of the rational relaxation, or a solution at its vertex or beside it."""
    multipliers = dictionary.restore()
    if multipliers is not None:
        return Contradiction(system.sum(multipliers))
    numerators, denominators = dictionary.vertex()
    # the nearest integers: the vertex itself if that is integral
    rounded = [(2 * n + d) // (2 * d) for n, d in zip(numerators, denominators)]
    if _satisfies(system, rounded):
        return point_of(system.change, rounded)
    return None


def _satisfies(system: System, values: list[int]) -> bool:
    system.budget.spend(len(system.inequalities) * (system.width + 6))
    point = [1, *values]
    return all(sum(map(int.__mul__, vector, point)) >= 0 for vector, _ in system.inequalities)


def _inner(system: System) -> list[int] | None:
    """A vertex far enough inside that its nearest integers satisfy the rows too, if there is one."""
    vectors = []
    for vector, _ in system.inequalities:
        reach = sum(map(abs, vector[1:]))
        # rounding moves the row by at most half its reach; a bound of one coordinate is kept by rounding
        vectors.append([vector[0] - reach // 2, *vector[1:]] if reach > 1 else vector)
    dictionary = Dictionary.of(vectors, system.width, system.budget)
    if dictionary.restore() is not None:
        return None
    numerators, denominators = dictionary.vertex()
    return point_of(system.change, [(2 * n + d) // (2 * d) for n, d in zip(numerators, denominators)])


def _cut(system: System, dictionary: Dictionary) -> Proof | list[int] | None:
    """Add cutting planes from the rows that meet in the vertex, while it is fractional; undo them if they do not
    decide.
    """
    count = len(system.inequalities)
    for _ in range(CUT_ROUNDS):
        cut = _deepest_cut(dictionary)
        if cut is None or system.budget.cuts == 0:
            break
        system.budget.cuts -= 1
        used = [(number, m) for number, m in zip(dictionary.columns, cut) if m]
        vector = [0] * (system.width + 1)
        for number, m in used:
            vector = [a + m * b for a, b in zip(vector, system.inequalities[number].vector)]
        content = gcd(*vector[1:])
        row = [content, -(vector[0] % content), *cut]
        parts = ((system.journal.derive(system.sum(used)), 1),)
        system.inequalities.append(Inequality([c // content for c in vector], parts))
        dictionary.insert(len(system.inequalities) - 1, row)
        outcome = _vertex(system, dictionary)
        if outcome is not None:
            return outcome
    del system.inequalities[count:]
    return None


def _deepest_cut(dictionary: Dictionary) -> list[int] | None:
    """Multipliers of the column slacks whose sum, divided by its content and rounded, the vertex violates most.

    From d*s == c + sum t*s_j follows for every k that sum (-k*t mod d)*s_j has content d (or a multiple) over the
    coordinates, and is at least k*c mod d, as all slacks are integers >= 0.
    """
    best: list[int] | None = None
    best_residue, best_total = 0, 1
    for row in dictionary.rows:
        d = row[0]
        residue = row[1] % d
        if residue == 0:
            continue
        common = gcd(residue, d)
        inverse = pow(residue // common, -1, d // common)
        for k in {1, d - 1, inverse, d - inverse}:
            multipliers = [-k * t % d for t in row[2:]]
            total = sum(multipliers)
            if k * residue % d * best_total > best_residue * total:
                best, best_residue, best_total = multipliers, k * residue % d, total
    return best


class _Middle(NamedTuple):
    """The sum of vertices of a body, in units of 2**-FINE, with their number, and the growth of each row."""

    total: list[int]
    vertices: int
    heights: list[int]


def _survey(system: System, dictionary: Dictionary) -> _Middle | None:
    """Maximize every row. None if that has changed the system: unbounded rows are dropped, rows that cannot reach 1 are
    made equalities.
    """
    count = len(system.inequalities)
    heights = [0] * count
    dropped: set[int] = set()
    direction = [0] * system.width
    total = [0] * system.width
    vertices = 0
    flat: list[Inequality] = []
    opposite = _opposite(system)
    reaches_one: set[int] = set()
    for number in range(count):
        if number in dropped:
            continue
        if number in opposite and number in reaches_one:
            heights[number] = opposite[number]
            continue
        limit = dictionary.maximise(dictionary.slack(number))
        if isinstance(limit, Ray):
            place = limit.place
            dropped.add(dictionary.columns[place - 2])
            dropped.update(owner for owner, row in zip(dictionary.basis, dictionary.rows) if row[place] > 0)
            direction = [a + b for a, b in zip(direction, dictionary.ray(place))]
            continue
        heights[number] = limit.floor
        if heights[number] == 0:
            vector = [-c for c in system.inequalities[number].vector]
            flat.append(Inequality(vector, ((system.journal.derive(system.sum(limit.multipliers)), 1),)))
        else:
            numerators, denominators = dictionary.vertex()
            total = [t + (n << FINE) // d for t, n, d in zip(total, numerators, denominators)]
            vertices += 1
            reaches_one.update(owner for owner, row in zip(dictionary.basis, dictionary.rows) if row[1] >= row[0])
    if not dropped and not flat:
        return _Middle(total, vertices, heights)
    if dropped:
        rows = [system.inequalities[number].vector for number in sorted(dropped)]
        system.change = Drift(system.change, direction, rows)
        system.inequalities = [row for number, row in enumerate(system.inequalities) if number not in dropped]
    system.inequalities += flat
    return None


def _opposite(system: System) -> dict[int, int]:
    """The rows -f + c >= 0 and f + b >= 0 that stand in pairs, with b + c, a bound on how far they grow."""
    seen: dict[tuple[int, ...], int] = {}
    found: dict[int, int] = {}
    for number, (vector, _) in enumerate(system.inequalities):
        other = seen.get(tuple([-c for c in vector[1:]]))
        if other is not None:
            found[number] = found[other] = vector[0] + system.inequalities[other].vector[0]
        seen[tuple(vector[1:])] = number
    return found


def _round_off(system: System, middle: _Middle, *, loose: bool) -> list[int] | None:
    """Change to a basis in which the body is round, without coordinates that occur in no row; try its centre."""
    size = system.width
    system.budget.spend(len(system.inequalities) * size * size)
    scale = 16 * max(middle.heights)
    weighted = [
        [c * (scale // height) for c in row.vector[1:]] for row, height in zip(system.inequalities, middle.heights)
    ]
    gram = [[sum([row[i] * row[j] for row in weighted]) for j in range(size)] for i in range(size)]
    if loose:
        # directions in which no row changes are short now, all others longer than a basis of those can be
        largest = max([abs(c) for row in system.inequalities for c in row.vector[1:]])
        bits = 2 * size * (largest.bit_length() + size)
        gram = [[(c << bits) + (i == j) for j, c in enumerate(line)] for i, line in enumerate(gram)]
    basis, dual = reduced(gram, system.budget)
    middles = [sum(map(int.__mul__, form, middle.total)) for form in dual]
    system.rebase(basis, dual)
    unit = middle.vertices << FINE
    values = [(2 * value + unit) // (2 * unit) for value in middles]
    for position in range(size - 1, -1, -1):
        if not any(row.vector[position + 1] for row in system.inequalities):
            system.discard(position)
            del values[position]
    return point_of(system.change, values) if _satisfies(system, values) else None


def _widths(system: System, dictionary: Dictionary) -> Contradiction | tuple[int, int] | None:
    """The thinnest coordinate and its midpoint; or a contradiction; or None if a coordinate is constant."""
    thinnest: tuple[int, int, int] | None = None
    for position in range(system.width - 1, -1, -1):
        vector = [0] * (system.width + 1)
        vector[position + 1] = 1
        high, above = _limit(system, dictionary, vector)
        vector[position + 1] = -1
        low, below = _limit(system, dictionary, vector)
        low = -low
        if low > high:
            return Contradiction(above + below)
        if low == high:
            vector[0] = high
            system.inequalities.append(Inequality(vector, above))
            system.inequalities.append(Inequality([-c for c in vector], below))
            return None
        if thinnest is None or high - low < thinnest[0]:
            thinnest = high - low, position, (low + high) // 2
    assert thinnest is not None
    return thinnest[1:]


def _limit(system: System, dictionary: Dictionary, vector: Vector) -> tuple[int, Parts]:
    """The maximum of a bounded form, rounded down, and the parts of the row `value - form >= 0`."""
    limit = dictionary.maximise(dictionary.over_columns(vector))
    assert isinstance(limit, Maximum), "every row is bounded, and so is every coordinate that occurs"
    return limit.floor, ((system.journal.derive(system.sum(limit.multipliers)), 1),)


def _branch(system: System, position: int, value: int, depth: int) -> Proof | list[int]:
    """Both sides of coordinate <= value, coordinate >= value + 1."""
    system.budget.branch()
    left, right = system.copy(), system.copy()
    assumption = system.journal.assume()
    system.journal.assume()
    vector = [0] * (system.width + 1)
    vector[0], vector[position + 1] = value, -1
    left.inequalities.append(Inequality(vector, ((assumption, 1),)))
    vector = [0] * (system.width + 1)
    vector[0], vector[position + 1] = -value - 1, 1
    right.inequalities.append(Inequality(vector, ((assumption + 1, 1),)))
    first = explore(left, depth=depth + 1)
    if isinstance(first, list) or assumption not in premises(system.journal, first):
        return first
    second = explore(right, depth=depth + 1)
    if isinstance(second, list) or assumption + 1 not in premises(system.journal, second):
        return second
    unit = [0] * system.width
    unit[position] = 1
    form = form_of(system.change, unit)
    return Split(tuple([(i, c) for i, c in enumerate(form) if c]), value, assumption, first, second)
