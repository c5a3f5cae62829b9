"""Replays certificates of solver.integer by the text of their language alone, sharing no code with the search."""

from math import gcd

from solver.integer import Combine, Infeasible, Point, Refutation, Row


def contradicts(row: Row) -> bool:
    return not row.coefficients and (row.constant != 0 if row.equality else row.constant < 0)


def combine(rows: list[Row], step: Combine) -> Row:
    """The row that a step derives; AssertionError if the step breaks the rules."""
    total: dict[int, int] = {}
    constant = 0
    equality = True
    for number, multiplier in step.multipliers:
        assert 0 <= number < len(rows), "a step speaks of a row that is not there"
        row = rows[number]
        assert row.equality or multiplier >= 0, "an inequality is multiplied by a negative number"
        equality = equality and row.equality
        constant += multiplier * row.constant
        for variable, coefficient in row.coefficients:
            total[variable] = total.get(variable, 0) + multiplier * coefficient
    content = gcd(*total.values())
    if content == 0:
        return Row((), constant, equality)
    if equality and constant % content:
        return Row((), 1, True)
    pairs = tuple((variable, c // content) for variable, c in sorted(total.items()) if c)
    return Row(pairs, constant // content, equality)


def replay(rows: list[Row], refutation: Refutation) -> None:
    """AssertionError unless the certificate shows that no integers satisfy the rows."""
    rows = list(rows)
    for step in refutation.steps:
        rows.append(combine(rows, step))
    branch = refutation.branch
    if branch is None:
        assert contradicts(rows[-1]), f"ends in {rows[-1]}"
        return
    assert len({variable for variable, _ in branch.form}) == len(branch.form) > 0
    below = Row(tuple((variable, -c) for variable, c in branch.form), branch.value, False)
    above = Row(branch.form, -branch.value - 1, False)
    replay([*rows, below], branch.left)
    replay([*rows, above], branch.right)


def value(row: Row, values: tuple[int, ...]) -> int:
    return row.constant + sum(c * values[variable] for variable, c in row.coefficients)


def satisfied(row: Row, values: tuple[int, ...]) -> bool:
    return value(row, values) == 0 if row.equality else value(row, values) >= 0


def verify(rows: list[Row], answer: object) -> None:
    """AssertionError if the evidence of an answer is not one."""
    match answer:
        case Point(values):
            for row in rows:
                assert satisfied(row, values), f"{values} breaks {row}"
        case Infeasible(certificate):
            replay(rows, certificate)
