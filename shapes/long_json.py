"""JSON with integers of any length: Python alone refuses to print or read more than some thousands of digits.

>>> from shapes.long_json import dumps, loads
>>> loads(dumps({"hi": -(2**20000), "name": "s"})) == {"hi": -(2**20000), "name": "s"}
True
"""

from __future__ import annotations

import json
import re
from typing import Final

from solver.tokens import long_integer
from solver.wording import digits

LONG: Final = 8000
_MARKED: Final = re.compile(r'"\\u0000(\d+)\\u0000"')


def dumps(value: object) -> str:
    """The value as one line of JSON."""
    try:
        return json.dumps(value)
    except ValueError:
        found: list[int] = []
        text = json.dumps(_marked(value, found))
        return _MARKED.sub(lambda match: _decimal(found[int(match[1])]), text)


def loads(text: str | bytes) -> object:
    """The value of a text of JSON.

    Raises:
        ValueError: it is none.
    """
    value: object = json.loads(text, parse_int=_integer)
    return value


def _marked(value: object, found: list[int]) -> object:
    """The value with long integers replaced by texts that no name contains."""
    match value:
        case int() if value.bit_length() > LONG:
            found.append(value)
            return f"\0{len(found) - 1}\0"
        case dict():
            return {key: _marked(part, found) for key, part in value.items()}
        case list() | tuple():
            return [_marked(part, found) for part in value]
        case _:
            return value


def _decimal(value: int) -> str:
    return "-" + digits(-value) if value < 0 else digits(value)


def _integer(text: str) -> int:
    return -long_integer(text[1:]) if text.startswith("-") else long_integer(text)
