"""Formula synthesis: the size of an output axis from the sizes and integers of the inputs.

    >>> from shapes.testing.formulas import fitted
    >>> rows = [{"x[0]": n, "size": k, "step": s} for n in range(4, 9) for k in (1, 2, 4) for s in (1, 2, 3)]
    >>> fitted(rows, [(row["x[0]"] - row["size"]) // row["step"] + 1 for row in rows])
    '(x[0] - size) // step + 1'
    >>> fitted(rows, [2 * row["x[0]"] + 3 for row in rows]), fitted(rows, [row["x[0]"] ** 3 for row in rows])
    ('2*x[0] + 3', None)

The plainest that fits all is taken: a constant, one of the numbers, two that broadcast, a sum with integer coefficients
(of products of two at last), a product, a sum divided by one of the numbers or by a constant and rounded down, a sum
that is at least something. Linear fits are exact: equations over the rationals, solved by elimination.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

Row = Mapping[str, int]

TERMS: Final = 3
DIVISORS: Final = range(2, 9)
WIDE: Final = 8
SMALL: Final = (1, -1, 2, -2)


def fitted(rows: Sequence[Row], values: Sequence[int]) -> str | None:
    """A formula over the names of the rows that gives these values; None where none was found."""
    for formula in _candidates(rows, values):
        if all(evaluated(formula, row) == value for row, value in zip(rows, values, strict=True)):
            return formula
    return None


def evaluated(formula: str, row: Row) -> int | bool | None:
    """The value of a formula; None where it divides by zero."""
    names = {_plain(name): value for name, value in row.items()}
    text = formula
    for name in sorted(row, key=len, reverse=True):
        text = text.replace(name, _plain(name))
    try:
        result: object = eval(text, {"sym_ite": _ite, "sym_max": max, "sym_min": min, "sym_or": _either}, names)
    except ZeroDivisionError:
        return None
    return result if isinstance(result, int) else None


def _plain(name: str) -> str:
    return "".join([letter if letter.isalnum() else "_" for letter in name])


def _ite(condition: bool, then: int, otherwise: int) -> int:
    return then if condition else otherwise


def _either(*parts: bool) -> bool:
    return any(parts)


def _candidates(rows: Sequence[Row], values: Sequence[int]) -> Iterator[str]:
    """Formulas worth trying, the plainest first."""
    names = sorted(rows[0])
    yield str(values[0])
    yield from names
    for a, b in itertools.combinations(names, 2):
        yield f"sym_ite({a} == 1, {b}, {a})"
    affine = _affine(rows, values)
    if affine is not None:
        yield written(*affine)
    for count in (2, 3, 4):
        for chosen in itertools.combinations(names, count):
            product = [math.prod([row[name] for name in chosen]) for row in rows]
            factor = next((v // p for v, p in zip(values, product) if p), 1)
            yield "*".join([*([str(factor)] if factor != 1 else []), *chosen])
    for divisor in names:
        yield from _divided_by_name(rows, values, divisor)
    yield from _divided_by_constant(rows, values)
    for end, word in ((min(values), "sym_max"), (max(values), "sym_min")):
        inside = [i for i, value in enumerate(values) if value != end]
        affine = _affine([rows[i] for i in inside], [values[i] for i in inside]) if len(inside) > 2 else None
        if affine is not None:
            yield f"{word}({written(*affine)}, {end})"
    for a, b in itertools.combinations(names, 2):
        yield f"sym_min({a}, {b})"
        yield f"sym_max({a}, {b})"


def _divided_by_name(rows: Sequence[Row], values: Sequence[int], divisor: str) -> Iterator[str]:
    """A sum divided by one of the numbers: where that is 1, the sum shows."""
    ones = [i for i, row in enumerate(rows) if row[divisor] == 1]
    if len(ones) < 3:
        return
    others = [{name: value for name, value in rows[i].items() if name != divisor} for i in ones]
    affine = _affine(others, [values[i] for i in ones])
    if affine is None:
        return
    coefficients, constant = affine
    for outside in (1, 0, -1, 2):
        top = written(coefficients, constant - outside)
        yield f"{_grouped(top)} // {divisor}" + _signed(outside)
        yield f"({top} + {divisor} - 1) // {divisor}" + _signed(outside)


def _divided_by_constant(rows: Sequence[Row], values: Sequence[int]) -> Iterator[str]:
    """A sum of at most two of the numbers divided by a constant: the constant follows from any one row."""
    for divisor in DIVISORS:
        for count in (1, 2):
            for chosen in itertools.combinations(sorted(rows[0]), count):
                for signs in itertools.product(SMALL, repeat=count):
                    # value*d <= sum + constant < value*d + d at every row
                    sums = [sum([c * row[name] for c, name in zip(signs, chosen)]) for row in rows]
                    low = max([value * divisor - total for value, total in zip(values, sums)])
                    high = min([value * divisor + divisor - 1 - total for value, total in zip(values, sums)])
                    if low <= high:
                        constant = min(range(low, high + 1), key=lambda c: (abs(c % divisor), abs(c)))
                        outside, inside = divmod(constant, divisor)
                        top = _grouped(written(dict(zip(chosen, signs)), inside))
                        yield f"{top} // {divisor}" + _signed(outside)


# ---------------------------------------------------------------------- sums


def _affine(rows: Sequence[Row], values: Sequence[int]) -> tuple[dict[str, int], int] | None:
    """Integer coefficients of at most a few of the numbers, and a constant."""
    if not rows:
        return None
    for count in range(TERMS + 1):
        for chosen in itertools.combinations(sorted(rows[0]), count):
            found = _solved([[*[row[name] for name in chosen], 1] for row in rows], values)
            if found is not None and all(each.denominator == 1 for each in found):
                *coefficients, constant = [int(each) for each in found]
                return {name: c for name, c in zip(chosen, coefficients) if c}, constant
    return _with_products(rows, values)


def _with_products(rows: Sequence[Row], values: Sequence[int]) -> tuple[dict[str, int], int] | None:
    """Integer coefficients of all of the numbers and their products, where the rows leave nothing open."""
    names = sorted(rows[0])
    pairs = list(itertools.combinations(names, 2))
    width = len(names) + len(pairs) + 1
    if not WIDE >= len(names) > 1 or len(rows) <= width:
        return None
    matrix = [[*[row[name] for name in names], *[row[a] * row[b] for a, b in pairs], 1] for row in rows]
    found = _solved(matrix, values)
    if found is None or any(each.denominator != 1 for each in found):
        return None
    *coefficients, constant = [int(each) for each in found]
    terms = [*names, *[f"{a}*{b}" for a, b in pairs]]
    return {name: c for name, c in zip(terms, coefficients) if c}, constant


def _solved(matrix: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction] | None:
    """The solution of linear equations, 0 for what they leave open; None where they contradict each other."""
    width = len(matrix[0])
    pivots: dict[int, list[Fraction]] = {}
    for numbers, value in zip(matrix, values, strict=True):
        row = [Fraction(n) for n in (*numbers, value)]
        for column, pivot in pivots.items():
            if row[column]:
                factor = row[column]
                row = [a - factor * b for a, b in zip(row, pivot)]
        column = next((i for i in range(width) if row[i]), -1)
        if column < 0:
            if row[-1]:
                return None
            continue
        row = [each / row[column] for each in row]
        for other, pivot in pivots.items():
            if pivot[column]:
                factor = pivot[column]
                pivots[other] = [a - factor * b for a, b in zip(pivot, row)]
        pivots[column] = row
    return [pivots[column][-1] if column in pivots else Fraction(0) for column in range(width)]


def written(coefficients: Mapping[str, int], constant: int) -> str:
    """A sum as text."""
    parts = sorted(coefficients.items(), key=lambda part: part[1] < 0)
    text = ""
    for name, c in parts:
        size = name if abs(c) == 1 else f"{abs(c)}*{name}"
        text += (f" - {size}" if c < 0 else f" + {size}") if text else (f"-{size}" if c < 0 else size)
    return text + _signed(constant) if text else str(constant)


def _grouped(text: str) -> str:
    """A text that can be divided."""
    return f"({text})" if " " in text or "*" in text or text.startswith("-") else text


def _signed(constant: int) -> str:
    return "" if not constant else f" - {-constant}" if constant < 0 else f" + {constant}"
