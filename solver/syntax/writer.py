"""The texts of operations, and the interface between the parts of the printer.

The printer (`solver.syntax.printer`) says how expressions and propositions are written, and hands itself to
`solver.syntax.resugar` and `solver.syntax.float_printer`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from solver.syntax.factored import Pieces
from solver.syntax.precedence import (
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    CHOICE,
    DIVISION,
    OR,
    POWER,
    PRODUCT,
    SHIFT,
    SUM,
    WHOLE,
    Text,
)
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.factors import Sum
from solver.terms.prop import Prop


class Writer:
    """One text being written."""

    interner: TermTable
    pieces: Pieces
    atoms: dict[int, Atom]
    weights: dict[int, int]
    trials: int
    work: int

    @abstractmethod
    def expression(self, e: Expr) -> Text:
        """The text of an expression."""

    @abstractmethod
    def proposition(self, p: Prop) -> Text:
        """The text of a proposition."""

    @abstractmethod
    def plain(self, e: Expr) -> Sum:
        """The terms of an expression as a sum over pieces, one for each atom."""

    @abstractmethod
    def value(self, poly: Sum) -> Expr:
        """The expression that a sum over pieces stands for."""

    @abstractmethod
    def resugared(self, operation: str, arguments: tuple[Expr | Prop, ...]) -> int:
        """The number of the piece that is an operation of the source language."""

    def operation(self, name: str, arguments: Sequence[Expr | Prop]) -> Text:
        """The text of an operation on these arguments."""
        match name, arguments:
            case "floordiv", (Expr() as n, Expr() as d):
                return self.quotient(n, d)
            case "mod", (Expr() as n, Expr() as d):
                return self.division("%", n, d)
            case "ceildiv", (Expr() as n, Expr() as d):
                return self.ceiling(n, d)
            case "relu", (Expr() as e,):
                return self.extreme("max", e, e.interner.zero)
            case (("max" | "min"), (Expr() as a, Expr() as b)):
                return self.extreme(name, a, b)
            case "abs", (Expr() as e,):
                return self.magnitude(e)
            case (("bitand" | "bitor" | "bitxor"), (Expr() as a, Expr() as b)):
                return self.bits(name, a, b)
            case "ite", (Prop() as p, Expr() as a):
                return self.choice(p, a, a.interner.zero)
            case "select", (Prop() as p, Expr() as a, Expr() as b):
                return self.choice(p, a, b)
        raise AssertionError(name)

    def quotient(self, n: Expr, d: Expr) -> Text:
        """`n // d`, or `ceildiv` where that is shorter."""
        exponent = exponent_of_two(d)
        if exponent is not None:
            left, right = self.expression(n), self.expression(exponent)
            return Text(f"{left.within(SUM)} >> {right.within(SUM)}", SHIFT, left.cost + right.cost + 1)
        best = self.division("//", n, d)
        for upper in ceiling_numerators(n, d):
            other = self.ceiling(upper, d)
            if other.cost < best.cost:
                best = other
        return best

    def division(self, operator: str, n: Expr, d: Expr) -> Text:
        left, right = self.expression(n), self.expression(d)
        gap = " % " if operator == "%" else operator
        terms = 1
        if operator == "%":
            terms = max(1, len(n.terms) + max(1, len(d.terms)))
        return Text(f"{left.within(PRODUCT)}{gap}{right.within(POWER)}", DIVISION, left.cost + right.cost + 1, terms)

    def ceiling(self, n: Expr, d: Expr) -> Text:
        left, right = self.expression(n), self.expression(d)
        return Text(f"ceildiv({left.text}, {right.text})", WHOLE, left.cost + right.cost + 1)

    def extreme(self, name: str, a: Expr, b: Expr) -> Text:
        """`max(a, b)` or `min(a, b)`; one nested in the first place shares the call."""
        x, y = self.expression(a), self.expression(b)
        inner = [argument for argument in (x, y) if argument.arguments and argument.text.startswith(name)]
        others = [argument for argument in (x, y) if not inner or argument is not inner[0]]
        if not a.terms or (b.terms and not inner and _first_in_call(y) < _first_in_call(x)):
            others.reverse()
        arguments = (*(inner[0].arguments if inner else ()), *[argument.text for argument in others])
        cost = x.cost + y.cost + 1
        return Text(f"{name}({', '.join(arguments)})", WHOLE, cost, 1 + len(a.terms) + len(b.terms), arguments)

    def magnitude(self, e: Expr) -> Text:
        inner, opposite = self.expression(e), self.expression(-e)
        if opposite.rank < inner.rank:
            inner = opposite
        return Text(f"abs({inner.text})", WHOLE, inner.cost + 1, 1 + len(e.terms))

    def choice(self, p: Prop, a: Expr, b: Expr) -> Text:
        """`a if p else b`, with the complement where that is shorter."""
        x, y = self.expression(a), self.expression(b)
        condition, opposite = self.proposition(p), self.proposition(p.negation)
        if (opposite.cost, len(opposite.text)) < (condition.cost, len(condition.text)):
            x, condition, y = y, opposite, x
        cost = x.cost + y.cost + condition.cost + 1
        text = f"{x.within(OR)} if {condition.within(OR)} else {y.text}"
        return Text(text, CHOICE, cost, 1 + len(a.terms) + len(b.terms))

    def bits(self, name: str, a: Expr, b: Expr) -> Text:
        operator, level = {"bitand": ("&", BIT_AND), "bitxor": ("^", BIT_XOR), "bitor": ("|", BIT_OR)}[name]
        first, second = sorted((self.expression(a), self.expression(b)), key=_first_in_call)
        text = f"{first.within(SHIFT)} {operator} {second.within(SHIFT)}"
        terms = 1 if operator == "&" else 1 + len(a.terms) + len(b.terms)
        return Text(text, level, first.cost + second.cost + 1, terms)


def exponent_of_two(d: Expr) -> Expr | None:
    """n when the expression is `2**n`."""
    if len(d.terms) != 1 or d.terms[0][1] != 1 or d.constant:
        return None
    atoms = d.interner.monomials[d.terms[0][0]]
    if len(atoms) != 1 or atoms[0].kind != "power":
        return None
    base, exponent = atoms[0].args
    two = isinstance(base, Expr) and not base.terms and base.constant == 2
    return exponent if two and isinstance(exponent, Expr) else None


def ceiling_numerators(n: Expr, d: Expr) -> list[Expr]:
    """The numerators m with `n // d == ceildiv(m, d)` that may be shorter, for a constant d."""
    if d.terms or d.constant == 1:
        return []
    return [n - (d.constant - 1)] if n.constant else []


def _first_in_call(text: Text) -> tuple[bool, int, str]:
    """The sort key of a call's arguments: names and sums before numbers, short before long."""
    return (text.text.isdigit() or text.text[0] == "-", len(text.text), text.text)
