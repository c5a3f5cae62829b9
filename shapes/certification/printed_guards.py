"""A guard as torch prints it, with its comment: each end of a range by itself, with its line and what made it.

    >>> comment = "if n <= 8:  # model.py:41 in forward (_dynamo/symbolic_convert.py:9 in evaluate)"
    >>> for each in stated("2 <= x.shape[0] <= 8", comment, place_in_comment):
    ...     print(each.text, "|", each.where)
    x.shape[0] >= 2 | model.py:41 in forward
    x.shape[0] <= 8 | model.py:41 in forward
    >>> for each in stated("x.shape[0] == 3", "(_dynamo/variables/builder.py:2864 in wrap)", place_in_comment):
    ...     print(each.text, "|", each.where)
    x.shape[0] == 3 | _dynamo/variables/builder.py:2864 in wrap

A comment has the line of the program behind a `#`, and in parentheses the line of torch that asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from shapes.certification.certificates import Condition
from shapes.origin import Origin
from shapes.size_names import SHAPE, canonical

LINE: Final = re.compile(r"# ([^\n#(][^\n#]*?):(\d+) in ([^\s()]+)")
"""A line of the program in torch's comment."""
FRAME: Final = re.compile(r"\(([^\s()]+):(\d+) in ([^\s()]+)\)$")
"""The line of torch that asked."""
RANGE: Final = re.compile(r"(?:(?P<low>-?\d+) <= )?(?P<size>[^\s<>=]+)(?: <= (?P<high>\d+))?")
BOTH_ENDS: Final = re.compile(r"((?:.*? in \S+ )?\((?:[^()]|\([^()]*\))*\)) and (.*)", re.DOTALL)
"""The comments of the two ends of a range."""
CONSTANT: Final = re.compile(r"\S+ == -?\d+")
DYNAMO: Final = "_dynamo/"
LARGEST: Final = 2**63 - 1
SPECIALIZED: Final = "sizes of 0 and 1 are specialized"
NEVER_A_SYMBOL: Final = "a constant: it was never a symbol"
EQUAL: Final = "duck sizing: the sizes were equal when it was compiled"


class Comment(NamedTuple):
    """The places in a comment: the program's line, and torch's, which asked."""

    program: Origin | None
    asked: Origin | None


Place: TypeAlias = Callable[[str], tuple[Origin | None, str]]
"""The program's line that caused a guard with this comment, and in words what did, where that is no line of it."""


def places_in(comment: str) -> Comment:
    """The places in a comment of torch's."""
    found = [pattern.search(text) for pattern, text in ((LINE, f"# {comment}"), (FRAME, comment))]
    return Comment(*[None if each is None else Origin(each[1], int(each[2]), each[3]) for each in found])


def place_in_comment(comment: str) -> tuple[Origin | None, str]:
    """The program's line, if the comment has one; else the line of torch in words."""
    program, asked = places_in(comment)
    return program, words_of(asked) if program is None else ""


def words_of(place: Origin | None) -> str:
    """A line of torch's in words, with the path that torch prints."""
    return "" if place is None else f"{place.file}:{place.line} in {place.function}"


def stated(text: str, comment: str, place: Place, *, static: bool = False) -> Iterator[Condition]:
    """The conditions of one guard; `static` if it is about no size of an input."""
    limits = RANGE.fullmatch(text)
    if limits is None or not (limits["low"] or limits["high"]):
        origin, why = place(comment)
        constant = CONSTANT.fullmatch(text) is not None
        static = static or constant and "unknown source" in comment
        why = NEVER_A_SYMBOL if static else EQUAL if "duck sizing" in comment else why
        asked = places_in(comment).asked
        derived = asked is not None and not asked.file.startswith(DYNAMO)
        yield Condition(text, origin, why, static=static, derived=derived or (constant and not static))
        return
    both = BOTH_ENDS.fullmatch(comment) if limits["low"] and limits["high"] else None
    never_negative = SHAPE.search(canonical(limits["size"])) is not None
    comments = both.groups() if both is not None else (comment, comment)
    for end, sign, said in ((limits["low"], ">=", comments[0]), (limits["high"], "<=", comments[1])):
        if end is None or (int(end) >= LARGEST if sign == "<=" else never_negative and int(end) <= 0):
            continue
        origin, why = place(said)
        why = SPECIALIZED if "0/1 specialization" in said else why
        yield Condition(f"{limits['size']} {sign} {end}", origin, why, derived=True)


__all__ = ["Comment", "place_in_comment", "places_in", "stated", "words_of"]
