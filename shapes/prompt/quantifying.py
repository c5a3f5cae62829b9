"""The ranges of a `forall` line: bound variables with their ends, and the question behind them, if there is one.

>>> from shapes.prompt.grammar import Argument
>>> line = "forall r < world, r < q <= n: r*n <= q*n"
>>> ranges, question = read_ranges(line, Argument(line[7:], 7))
>>> for each in ranges:
...     print(each.name, each.low.text, each.above, each.high.text, each.included)
r 0 False world False
q r True n True
>>> question
Argument(text='r*n <= q*n', column=30)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shapes.prompt.grammar import Argument, check_name
from solver.errors import ParseError

_RANGE: Final = re.compile(
    r"\s*(?:(?P<low>.*?\S)\s*(?P<above><=?)\s*)?(?P<name>\w+)\s*(?P<below><=?)\s*(?P<high>[^<>=]+)"
)
_FORM: Final = "`forall r < world: P`, or with both ends `forall 1 <= r < world: P`"


@dataclass(frozen=True, slots=True)
class Range:
    """A bound variable between two ends: `above` the lower one, or from it on; the upper one `included`, or not."""

    name: str
    low: Argument
    above: bool
    high: Argument
    included: bool


def read_ranges(line: str, argument: Argument) -> tuple[list[Range], Argument | None]:
    """The ranges before a colon, and the question behind it.

    Raises:
        ParseError: it is written otherwise; the column is one of the line.
    """
    head, colon, tail = argument.text.partition(":")
    ranges = [_range(line, part) for part in _parts(head, argument.column)]
    if not colon:
        return ranges, None
    column = argument.column + len(head) + 1 + len(tail) - len(tail.lstrip())
    if not tail.strip():
        raise ParseError(f"a question is missing behind the colon: {_FORM}", line, column)
    return ranges, Argument(tail.strip(), column)


def _parts(text: str, column: int) -> Iterator[Argument]:
    """The parts between commas outside of parentheses."""
    depth = begin = 0
    for at, letter in enumerate(text + ","):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield Argument(text[begin:at], column + begin)
            begin = at + 1


def _range(line: str, part: Argument) -> Range:
    found = _RANGE.fullmatch(part.text)
    if found is None:
        raise ParseError(f"expected the range of a variable: {_FORM}", line, part.column)
    fault = check_name(found["name"])
    if fault is not None:
        raise ParseError(fault, line, part.column + found.start("name"))
    high = Argument(found["high"].strip(), part.column + found.start("high"))
    low = (
        Argument("0", high.column) if found["low"] is None else Argument(found["low"], part.column + found.start("low"))
    )
    return Range(found["name"], low, found["above"] == "<", high, found["below"] == "<=")
