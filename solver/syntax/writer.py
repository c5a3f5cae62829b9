"""The protocol of the printer for its parts: texts, weights and pieces of one text being written.

The printer itself stands on these parts (`solver.syntax.resugar`, `solver.syntax.float_printer`) and is handed to them.
"""

from __future__ import annotations

from typing import Protocol

from solver.syntax.factored import Pieces
from solver.syntax.precedence import Text
from solver.terms.expr import Atom, Expr
from solver.terms.factors import Sum
from solver.terms.interner import Interner
from solver.terms.prop import Prop


class Writer(Protocol):
    """One text being written (see `solver.syntax.printer.Printer`)."""

    interner: Interner
    pieces: Pieces
    atoms: dict[int, Atom]
    weights: dict[int, int]
    trials: int
    work: int

    def expression(self, e: Expr) -> Text: ...
    def plain(self, e: Expr) -> Sum: ...
    def value(self, poly: Sum) -> Expr: ...
    def recovered(self, operation: str, arguments: tuple[Expr | Prop, ...]) -> int: ...
    def quotient(self, n: Expr, d: Expr) -> Text: ...
    def division(self, operator: str, n: Expr, d: Expr) -> Text: ...
    def ceiling(self, n: Expr, d: Expr) -> Text: ...
    def extreme(self, name: str, a: Expr, b: Expr) -> Text: ...
    def magnitude(self, e: Expr) -> Text: ...
    def choice(self, p: Prop, a: Expr, b: Expr) -> Text: ...
    def bits(self, operator: str, a: Expr, b: Expr) -> Text: ...
