"""JSON with integers of any length: Python alone refuses to print or read more than some thousands of digits.

>>> from shapes.sessions.long_json import dumps, loads
>>> loads(dumps({"hi": -(2**20000), "name": "s"})) == {"hi": -(2**20000), "name": "s"}
True
"""

from __future__ import annotations

import json
import re
from typing import Final

from solver.errors import NotExpressible
from solver.syntax.precedence import digits
from solver.syntax.tokens import long_integer

LONG: Final = 8000
_SURROGATE: Final = re.compile(r"\\u[dD]")
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
    """The value of a text of JSON, in UTF-8 where it is given as bytes.

    Stricter than Python, so that a text has one meaning and can be printed: no NaN and no infinities, no key twice, no
    half of a character (`\\ud800`).

    Raises:
        ValueError: it is none.
    """
    read = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    try:
        value: object = json.loads(
            read, parse_int=_integer, parse_constant=_no_constant, object_pairs_hook=_no_key_twice
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _SURROGATE.search(read):
        _printable(value)
    return value


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not a number")


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r:.80} is there twice")
    return found


def _printable(value: object) -> None:
    match value:
        case str():
            value.encode()
        case dict():
            for key, part in value.items():
                _printable(key)
                _printable(part)
        case list():
            for part in value:
                _printable(part)
        case _:
            pass


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
    try:
        return -long_integer(text[1:]) if text.startswith("-") else long_integer(text)
    except NotExpressible as error:
        raise ValueError(str(error)) from None
