"""Lemmas on demand: valid inequalities for products and squares that cut off a spurious point of the linear relaxation
(incremental linearization, Cimatti et al. 2018).

The relaxation treats `x*y` as an unknown of its own. Where a point gives it another value than the product of those of
x and y, one of these may cut the point off:

- the product of two rows (`p >= 0` and `q >= 0` give `p*q >= 0`), an equality times a monomial;
- `e*(e - 1) >= 0`, true of every integer e, for a form e that makes the point's "squares" negative.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, None, None).declare_range(y, None, None)
    >>> decide(known, terms.ge(x * x + y * y, 2 * x * y + x - y)).rung
    'refine'
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from itertools import product as choices
from math import lcm
from typing import Final

from solver.knowledge.explain import prove_side
from solver.proofs.step import gap, multiply_equality, square, times
from solver.rungs.model import Model
from solver.rungs.rows import Rows, distinct, given
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import without

WRONG: Final = 6
"""Products examined in one round."""
PAIRS: Final = 120
"""Pairs of rows examined for one product."""
ADDED: Final = 6
"""Rows added in one round."""
BASIS: Final = 6
FRESH: Final = 2
"""New monomials in one added row."""
BITS: Final = 24
PRODUCT: Final = 200
"""The cost of a product of rows, in units of the solver's work."""


def strengthen(rows: Rows, model: Model, wrong: Sequence[Expr]) -> int:
    """Add violated lemmas; returns the number of rows added."""
    products = [e.terms[0][0] for e in wrong if len(rows.known.interner.monomials[e.terms[0][0]]) > 1]
    added = _squares(rows, model)
    if not added and products:
        added = _localized(rows, model) if rows.degree > 2 else 0
    if not added and products:
        added = _products(rows, model, products[:WRONG])
    return added


# ---------------------------------------------------------------------- products of rows


def _products(rows: Rows, model: Model, wrong: Sequence[int]) -> int:
    """Violated products of two rows that mention a spurious product, those with the fewest new monomials first."""
    for m in wrong:
        for pair in factorizations(rows, m):
            for part in pair:
                rows.mention(part)
    rows.grow()
    holders: dict[int, list[int]] = {}
    for number, row in enumerate(rows.rows):
        for position, _ in row.coefficients:
            holders.setdefault(rows.monomials[position], []).append(number)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for m in wrong:
        pairs = 0
        for left, right in factorizations(rows, m):
            for i in holders.get(left, ()):
                for j in holders.get(right, ()):
                    key = (i, j) if i <= j else (j, i)
                    pairs += 1
                    if pairs > PAIRS:
                        break
                    if key in found or key in rows.multiplied:
                        continue
                    rows.cost += PRODUCT
                    value, fresh = _value_of_product(rows, model, i, j)
                    if value < 0 and fresh <= FRESH:
                        found[key] = fresh, value
    added = 0
    for i, j in sorted(found, key=lambda key: found[key])[:ADDED]:
        rows.multiplied.add((i, j))
        product = times(rows.proofs[i](), rows.proofs[j]())
        added += rows.add(product.conclusion, given(product))
    added += _equalities(rows, model, wrong, holders)
    if added:
        rows.grow()
    return added


def factorizations(rows: Rows, m: int) -> list[tuple[int, int]]:
    """The monomial as an atom times the rest, for each of its atoms."""
    interner = rows.known.interner
    found = []
    for atom in distinct(interner, m):
        rest = interner.monomial(without(interner.monomials[m], (atom,)))
        found.append((atom.monomial, rest))
        if len(interner.monomials[m]) == 2:
            break
    return found


def _value_of_product(rows: Rows, model: Model, i: int, j: int) -> tuple[int, int]:
    """The value of the product of two rows at the point, and how many of its monomials the point does not have."""
    first, second = rows.rows[i], rows.rows[j]
    if first.equality or second.equality:
        return 0, 9
    if len(first.coefficients) * len(second.coefficients) > 36:
        return 0, 9
    interner = rows.known.interner
    monomials = rows.monomials
    total = first.constant * second.constant
    fresh = 0
    for p, c in first.coefficients:
        m = monomials[p]
        if second.constant:
            total += c * second.constant * model.monomial(m)
        for q, d in second.coefficients:
            n = interner.multiply_monomials(m, monomials[q])
            if n not in rows.index:
                if len(interner.monomials[n]) > rows.degree:
                    return 0, 9
                fresh += 1
            total += c * d * model.monomial(n)
    if first.constant:
        for q, d in second.coefficients:
            total += first.constant * d * model.monomial(monomials[q])
    return total, fresh


def _equalities(rows: Rows, model: Model, wrong: Sequence[int], holders: dict[int, list[int]]) -> int:
    """Equalities times a monomial that makes them mention a spurious product."""
    added = 0
    interner = rows.known.interner
    for m in wrong:
        for atom_monomial, rest in factorizations(rows, m):
            for held, factor in ((atom_monomial, rest), (rest, atom_monomial)):
                for i in holders.get(held, ())[:8]:
                    if not rows.rows[i].equality or (i, -factor) in rows.multiplied:
                        continue
                    scaled = multiply_equality(rows.proofs[i](), interner.expr(((factor, 1),), 0))
                    if scaled.conclusion.expr.degree <= rows.degree and model.expr(scaled.conclusion.expr) != 0:
                        rows.multiplied.add((i, -factor))
                        added += rows.add(scaled.conclusion, given(scaled))
                        if added >= ADDED:
                            return added
    return added


# ---------------------------------------------------------------------- squares


def _squares(rows: Rows, model: Model) -> int:
    """`e*(e - 1) >= 0` and `e*(e + 1) >= 0` for a form e of monomials whose "variance" at the point is negative."""
    interner = rows.known.interner
    basis = []
    for m in rows.monomials[: rows.original]:
        atoms = interner.monomials[m]
        if len(atoms) % 2 == 0 and atoms[::2] == atoms[1::2]:
            basis.append(interner.monomial(atoms[::2]))
    basis = basis[:BASIS]
    if not basis:
        return 0
    squares = [[_known(rows, model, interner.multiply_monomials(m, n)) for n in basis] for m in basis]
    values = [0] * len(basis)
    direction = negative_direction(squares)
    if direction is None:  # no square is negative; a variance may be
        values = [model.monomial(m) for m in basis]
        variance = [
            [None if each is None else each - values[i] * values[j] for j, each in enumerate(line)]
            for i, line in enumerate(squares)
        ]
        direction = negative_direction(variance)
    if direction is None:
        return 0
    form = interner.sum(
        [interner.expr(((m, k),), 0) if k else interner.zero for m, k in zip(basis, direction, strict=True)]
    )
    if not any(values) and not all(m in rows.index for m, _ in form.terms):
        lemma = square(form)
        return int(rows.add(lemma.conclusion, given(lemma)))
    form = form - sum([k * value for k, value in zip(direction, values, strict=True)])
    added = 0
    for e in (form, -form):
        lemma = gap(e)
        added += rows.add(lemma.conclusion, given(lemma))
    return added


def _localized(rows: Rows, model: Model) -> int:
    """`a*e*e >= 0` for a nonnegative atom a and a form e, where the point gives it a negative value."""
    interner = rows.known.interner
    added = 0
    bases: dict[Atom, dict[int, None]] = {}
    for m in rows.monomials[: rows.original]:
        atoms = interner.monomials[m]
        if len(atoms) == 3:
            for atom, first, second in (atoms, (atoms[1], atoms[0], atoms[2]), (atoms[2], atoms[0], atoms[1])):
                bases.setdefault(atom, {}).update({first.monomial: None, second.monomial: None})
    for atom, basis in bases.items():
        low = rows.known.range_of(atom.monomial).lo
        if low is None or low < 0 or not 1 < len(basis) <= BASIS:
            continue
        products = [
            [interner.multiply_monomials(atom.monomial, interner.multiply_monomials(m, n)) for n in basis]
            for m in basis
        ]
        direction = negative_direction([[_known(rows, model, each) for each in line] for line in products])
        if direction is None:
            continue
        form = interner.sum(
            [interner.expr(((m, k),), 0) if k else interner.zero for m, k in zip(basis, direction, strict=True)]
        )
        lemma = times(prove_side(rows.known, atom.expr, True, 0), square(form))
        added += rows.add(lemma.conclusion, given(lemma))
    if added:
        rows.grow()
    return added


def _known(rows: Rows, model: Model, m: int) -> int | None:
    """The point's value of a monomial, if it has one."""
    return model.monomial(m) if m in rows.index else None


def negative_direction(matrix: list[list[int | None]]) -> list[int] | None:
    """Integers v with `v * matrix * v < 0` for a symmetric matrix, small ones where possible.

    None if none were found.

    Vectors with one, two or three nonzero entries of 1 or -1 are tried first, where all entries that they meet are
    known; then symmetric elimination, which finds one in a full matrix if there is any.
    """
    size = len(matrix)
    best: tuple[Fraction, list[int]] | None = None
    for count in (1, 2, 3):
        for places in combinations(range(size), count):
            for signs in choices((1, -1), repeat=count - 1):
                chosen = list(zip(places, (1, *signs), strict=True))
                entries = [(s * t, matrix[i][j]) for i, s in chosen for j, t in chosen]
                known = [sign * entry for sign, entry in entries if entry is not None]
                value = sum(known) if len(known) == len(entries) else 0
                if value < 0 and (best is None or Fraction(value, count) < best[0]):
                    vector = [0] * size
                    for i, s in chosen:
                        vector[i] = s
                    best = Fraction(value, count), vector
        if best is not None:
            return best[1]
    full = [[entry for entry in line if entry is not None] for line in matrix]
    return _eliminated(full) if all(len(line) == size for line in full) else None


def _eliminated(matrix: list[list[int]]) -> list[int] | None:
    """A negative direction by symmetric Gaussian elimination."""
    size = len(matrix)
    rows = [[Fraction(c) for c in row] for row in matrix]
    basis = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    for k in range(size):
        pivot = rows[k][k]
        if pivot < 0:
            return _integral(matrix, basis[k])
        for j in range(k + 1, size):
            cross = rows[k][j]
            if not cross:
                continue
            if not pivot:
                step = -(abs(rows[j][j]) / (2 * abs(cross)) + 1) * (1 if cross > 0 else -1)
                return _integral(matrix, [step * a + b for a, b in zip(basis[k], basis[j], strict=True)])
            factor = cross / pivot
            basis[j] = [b - factor * a for a, b in zip(basis[k], basis[j], strict=True)]
        if pivot:
            for j in range(k + 1, size):
                factor = rows[k][j] / pivot
                if factor:
                    rows[j] = [b - factor * a for a, b in zip(rows[k], rows[j], strict=True)]
    return None


def _integral(matrix: list[list[int]], direction: Sequence[Fraction]) -> list[int] | None:
    """A multiple of the direction in integers, rounded to small ones as long as it stays negative."""
    largest = max(abs(c) for c in direction)
    for scale in (1, 2, 3, 4, 6):
        rounded = [round(c * scale / largest) for c in direction]
        if _quadratic(matrix, rounded) < 0:
            return rounded
    common = lcm(*[c.denominator for c in direction])
    exact = [int(c * common) for c in direction]
    return exact if max(abs(c) for c in exact).bit_length() <= BITS else None


def _quadratic(matrix: list[list[int]], v: Sequence[int]) -> int:
    return sum([v[i] * v[j] * c for i, row in enumerate(matrix) for j, c in enumerate(row)])
