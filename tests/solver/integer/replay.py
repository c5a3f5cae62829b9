"""For tests of solver.integer: rows written as text; a replay of certificates that shares no code with the search."""

import ast
from math import gcd

from solver.integer.certificate import Combine, Infeasible, Pairs, Point, Refutation, Row


def linear(node: ast.expr, names: dict[str, int]) -> tuple[dict[int, int], int]:
    """Coefficients and constant of a linear expression."""
    match node:
        case ast.Constant(int(n)):
            return {}, n
        case ast.Name(name):
            return {names.setdefault(name, len(names)): 1}, 0
        case ast.UnaryOp(ast.USub(), operand):
            coefficients, constant = linear(operand, names)
            return {v: -c for v, c in coefficients.items()}, -constant
        case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right):
            coefficients, constant = linear(left, names)
            more, n = linear(right, names)
            sign = 1 if isinstance(operator, ast.Add) else -1
            for v, c in more.items():
                coefficients[v] = coefficients.get(v, 0) + sign * c
            return coefficients, constant + sign * n
        case ast.BinOp(left, ast.Mult(), right):
            coefficients, constant = linear(right, names)
            _, n = linear(left, names)
            return {v: n * c for v, c in coefficients.items()}, n * constant
        case ast.BinOp(left, ast.Pow(), right):
            return {}, linear(left, names)[1] ** linear(right, names)[1]
    raise ValueError(ast.unparse(node))


def system(text: str) -> list[Row]:
    """Rows from comparisons (chained ones too), separated by commas; variables are numbered as they occur."""
    rows = []
    names: dict[str, int] = {}
    for comparison in text.split(","):
        tree = ast.parse(comparison.strip(), mode="eval").body
        assert isinstance(tree, ast.Compare)
        sides = [tree.left, *tree.comparators]
        for left, operator, right in zip(sides, tree.ops, sides[1:]):
            if isinstance(operator, ast.LtE):
                left, right = right, left
            coefficients, constant = linear(ast.BinOp(left, ast.Sub(), right), names)
            pairs = tuple((v, c) for v, c in sorted(coefficients.items()) if c)
            rows.append(Row(pairs, constant, isinstance(operator, ast.Eq)))
    return rows


def form(text: str) -> Pairs:
    return system(f"{text} >= 0")[0].coefficients


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
    assert len({variable for variable, _ in branch.form}) == len(branch.form) > 0, "a variable twice in a form"
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
