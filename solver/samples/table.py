"""Vectorized evaluation: the values of expressions at many assignments, one column for each expression.

    >>> from solver.terms.interner import Interner
    >>> from solver.samples.table import Table
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> table = Table([x.atom, y.atom], [range(2), (5, 7)])
    >>> table.values(x * y), table.truths(terms.le(x + y, 6))
    ([0, 0, 5, 7], [True, False, True, False])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Table:
    """The values of expressions at many assignments."""

    __slots__ = ("columns", "count", "products")

    def __init__(self, symbols: Sequence[Atom], sides: Sequence[Iterable[int]]) -> None:
        points = list(zip(*product(*sides), strict=True))
        self.count = len(points[0]) if points else 1
        self.columns: dict[Atom, Sequence[int]] = dict(zip(symbols, points, strict=True))
        self.products: dict[int, Sequence[int]] = {}

    def column(self, atom: Atom) -> Sequence[int]:
        found = self.columns.get(atom)
        if found is None:
            for inner in atom.expr.schedule:
                if inner not in self.columns:
                    self.columns[inner] = self.operation(inner)
            found = self.columns[atom]
        return found

    def operation(self, atom: Atom) -> Sequence[int]:
        columns = [self.values(arg) if isinstance(arg, Expr) else self.truths(arg) for arg in operands(atom)]
        return list(map(atom.operation.evaluate, *columns))

    def values(self, e: Expr) -> Sequence[int]:
        total: Sequence[int] = [e.constant] * self.count
        monomials = e.interner.monomials
        for m, c in e.terms:
            column = self.products.get(m)
            if column is None:
                first, *rest = monomials[m]
                column = self.column(first)
                for atom in rest:
                    column = [x * y for x, y in zip(column, self.column(atom), strict=True)]
                self.products[m] = column
            total = [x + c * y for x, y in zip(total, column, strict=True)]
        return total

    def truths(self, p: Prop) -> Sequence[bool]:
        match p.kind:
            case "ge":
                return [x >= 0 for x in self.values(p.expr)]
            case "eq":
                return [x == 0 for x in self.values(p.expr)]
            case "ne":
                return [x != 0 for x in self.values(p.expr)]
            case "and" | "or":
                known: dict[Prop, Sequence[bool]] = {}
                for node in p.nodes:
                    if node.parts:
                        columns = zip(*[known[part] for part in node.parts], strict=True)
                        joined = all if node.kind == "and" else any
                        known[node] = [joined(column) for column in columns]
                    else:
                        known[node] = self.truths(node)
                return known[p]
            case _:
                return [p.kind == "true"] * self.count
