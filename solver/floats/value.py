"""A float value of integer arguments, as text that Python would run.

    >>> from solver.terms.interner import Interner
    >>> from solver.floats.value import constant
    >>> x = constant(Interner(), 0.29)
    >>> x.text, x.arguments, x.value
    ('0.29', (), 0.29)

`solver.floats.values` makes them.
"""

from __future__ import annotations

import re
from typing import Final

from solver.floats.programs import Program, program
from solver.terms.expr import Expr, TermTable
from solver.terms.prop import Prop

PLACE: Final = re.compile(r"\{(\d+)\}")
SUM, PRODUCT, SIGN, POWER, VALUE = range(1, 6)
LEVELS: Final = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "**": POWER}
"""Operator precedence. `//` and `%` are put in parentheses, so that a leading minus negates the whole text."""


_SPECIAL: Final = {"inf": "1e999", "-inf": "-1e999", "nan": "(1e999 - 1e999)"}
"""Infinities and NaN as texts that Python reads."""


class Float:
    """A float value: `text` with `{i}` for the i-th of `arguments`; `value` where it is a constant.

    One value has one text as far as signs and constants go: `a + -b` is `a - b`, `-(0.5*a)` is `-0.5*a`, constants come
    first in products and last in sums. All of that is exact, and so is nothing else: `a + b + c` has its order.
    """

    __slots__ = ("arguments", "domain", "interner", "level", "opposite", "text", "value")

    def __init__(
        self,
        interner: TermTable,
        text: str,
        level: int,
        arguments: tuple[Expr, ...],
        domain: Prop,
        value: float | None = None,
    ) -> None:
        self.interner = interner
        self.text = text
        self.level = level
        self.arguments = arguments
        self.domain = domain
        self.value = value
        self.opposite: Float | None = None

    @property
    def is_negated(self) -> bool:
        """True if the text is a minus sign and the text of the opposite value."""
        return self.level != SUM and self.text[0] == "-"

    @property
    def program(self) -> Program:
        return program(self.text)

    def __str__(self) -> str:
        return self.text.format(*self.arguments)

    def __repr__(self) -> str:
        return f"<{self}>"


def constant(interner: TermTable, value: float) -> Float:
    text = _SPECIAL.get(repr(value), repr(value))
    return Float(interner, text, SIGN if text[0] == "-" else VALUE, (), Prop.truth(interner, True), value)


class Places:
    """The index of each integer argument in a text assembled from several."""

    def __init__(self, arguments: tuple[Expr, ...]) -> None:
        self.arguments = list(arguments)

    def of(self, e: Expr) -> str:
        if e not in self.arguments:
            self.arguments.append(e)
        return f"{{{self.arguments.index(e)}}}"

    def text(self, a: Float) -> str:
        arguments = a.arguments
        if tuple(self.arguments[: len(arguments)]) == arguments:
            return a.text
        return PLACE.sub(lambda place: self.of(arguments[int(place[1])]), a.text)
