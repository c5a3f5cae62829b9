"""Texts of expressions with their precedence and number of operators.

    >>> from solver.syntax.precedence import SUM, WHOLE, Text, digits
    >>> Text("a + b", SUM, 1).within(WHOLE)
    '(a + b)'
    >>> len(digits(10**20_000))
    20001

A call of n arguments counts n - 1 operators, and at least one; the sign of a literal counts none.
"""

from __future__ import annotations

import re
from typing import Final

# How tightly the outermost operator of a text binds, as in Python.
CHOICE, OR, AND, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, DIVISION, PRODUCT, POWER, WHOLE = range(13)

SortKey = tuple[int, tuple[str | int, ...]]


class Text:
    """A text, its precedence, and the numbers of its operators and of terms that the parser may make of it.

    It is `wide` when it multiplies sums whose expansion may pass the cap, so that the parser might leave it unexpanded.
    """

    __slots__ = ("arguments", "cost", "level", "terms", "text", "wide")

    def __init__(
        self,
        text: str,
        level: int = WHOLE,
        cost: int = 0,
        terms: int = 1,
        arguments: tuple[str, ...] = (),
        wide: bool = False,
    ) -> None:
        self.text = text
        self.level = level
        self.cost = cost
        self.terms = terms
        self.arguments = arguments
        self.wide = wide

    def within(self, level: int) -> str:
        """The text where only operators that bind at least so tightly may stand without parentheses."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """The sort key of texts, best first: texts too wide to read back exactly are worst."""
        return (1 if self.wide else 0, self.cost, len(self.text), self.text)

    def __repr__(self) -> str:
        return f"<{self.text}>"


class Comparison:
    """`left operator right`."""

    __slots__ = ("cost", "left", "operator", "right")

    def __init__(self, left: Text, operator: str, right: Text) -> None:
        self.left, self.operator, self.right = left, operator, right
        self.cost = left.cost + right.cost + 1

    @property
    def text(self) -> str:
        return f"{self.left.within(BIT_OR)} {self.operator} {self.right.within(BIT_OR)}"

    @property
    def rank(self) -> tuple[int, int, int, int, int, str]:
        """The order of comparisons: that of texts; among equals, few minus signs, and `>=` before `>`."""
        text = self.text
        wide = self.left.wide or self.right.wide
        strict = self.operator in "<>"
        return (1 if wide else 0, self.cost, text.count("-"), 1 if strict else 0, len(text), text)

    def swapped(self) -> Comparison:
        return Comparison(self.right, SWAPPED[self.operator], self.left)


SWAPPED: Final = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}


def natural(text: str) -> tuple[str | int, ...]:
    """A key by which `s2` comes before `s10`."""
    return tuple([int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]{1,18})", text))])


LITERAL_BITS: Final = 512


def number(value: int) -> Text:
    """A literal; powers of two of hundreds of digits are written as such."""
    if value < 0:
        positive = number(-value)
        return Text("-" + positive.within(POWER), SUM, positive.cost + 1)
    if value.bit_length() > LITERAL_BITS and value & (value - 1) == 0 and value.bit_length() < 1 << 18:
        return Text(f"2**{value.bit_length() - 1}", POWER, 1)
    return Text(digits(value))


def digits(value: int) -> str:
    """The decimal digits of an integer >= 0 of any size: Python refuses thousands of them unless told otherwise."""
    if value.bit_length() < 8000:
        return str(value)
    places = int(value.bit_length() * 0.30103) // 2
    high, low = divmod(value, 10**places)
    return digits(high) + digits(low).rjust(places, "0")
