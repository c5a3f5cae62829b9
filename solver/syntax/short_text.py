"""Numbers, sizes and texts of any length, short enough for people.

>>> sizes_text({"b": 4, "s": -1})
'b=4, s=-1'
>>> len(number_text(10**4000))
125
>>> with_names("2 <= x_size0 and x_size01 < n", {"x_size0": "x.shape[0]"})
'2 <= x.shape[0] and x_size01 < n'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from solver.syntax.named_sizes import by_shown_name
from solver.syntax.precedence import number

LONGEST_TEXT: Final = 160
WORD: Final = re.compile(r"(?<![\w.])[^\W\d]\w*")


def sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join([f"{name}={number_text(value)}" for name, value in by_shown_name(sizes).items()]) or "every size"


def number_text(value: int) -> str:
    """A number of any size for people."""
    return shortened(number(value).text)


def shortened(text: str) -> str:
    """A text of at most `LONGEST_TEXT` characters: what is long is cut in the middle."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT // 2]} ... {text[-LONGEST_TEXT // 4 :]}"


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Replace the names of symbols by those that people read."""
    return WORD.sub(lambda found: names.get(found[0], found[0]), text) if names else text
