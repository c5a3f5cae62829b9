"""Numbers, sizes and texts of any length, short enough for people.

>>> sizes_text({"b": 4, "s": -1})
'b=4, s=-1'
>>> len(number_text(10**4000))
125
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from solver.syntax.precedence import number

LONGEST_TEXT: Final = 160


def sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join([f"{name}={number_text(value)}" for name, value in sizes.items()]) or "every size"


def number_text(value: int) -> str:
    """A number of any size for people."""
    return shortened(number(value).text)


def shortened(text: str) -> str:
    """A text of at most `LONGEST_TEXT` characters: what is long is cut in the middle."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT // 2]} ... {text[-LONGEST_TEXT // 4 :]}"
