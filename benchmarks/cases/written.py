"""Reads the compact form in which the cases are written (`written/*.cases`).

A block begins with `session`, `system`, `facts` or `simplify` and a name; it ends where the next begins. `for` after
the name makes one block per instance, and `{...}` in its lines is evaluated with the instance's values and `join`.
Lines:

    x, y in 0..7        symbols with inclusive bounds; `0..`, `..9` and `..` leave an end open
    given PROP          a fact, known from here on
    PROP                a question (session), a constraint (system) or a fact (facts)
    A ~ B               two questions of one equality: A == B, and one that denies it
    P <=> Q             two questions of one equivalence: `not P or Q`, `P or not Q`
    tight EXPR          four questions of the bounds of EXPR: reached, not passed (`: 0..7` where the box is too large)
    EXPR => SHORT       an expression and the shortest equal one known (simplify)
    for k in 2, 3: ...  the rest of the line once for each value

>>> block = blocks("session s for k in 3, 4\\n x in 0..{k-1}\\n x < {k}\\n")[1]
>>> block.lines
['x in 0..3', 'x < 4']
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

HEADER = re.compile(r"^(session|system|facts|simplify)\s+(.*?)(?:\s+for\s+(.+?)\s+in\s+(.+))?$")
SYMBOLS = re.compile(r"^([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s+in\s+(.*?)\.\.(.*)$")
EACH = re.compile(r"^for\s+(.+?)\s+in\s+(.+?):\s(.*)$")


@dataclasses.dataclass(slots=True)
class Block:
    kind: str
    name: str
    lines: list[str]


def join(separator: str, part: str, numbers: Iterable[int]) -> str:
    """`part` once for each number, which stands for `@` in it; `$` is the next number.

    >>> join(" and ", "x@ < x$", range(2))
    'x0 < x1 and x1 < x2'
    """
    return separator.join(part.replace("@", str(number)).replace("$", str(number + 1)) for number in numbers)


def filled(line: str, values: dict[str, Any]) -> str:
    """The line with every `{...}` replaced by its value; negative values in brackets, so that they stay factors."""

    def value(match: re.Match[str]) -> str:
        result = eval(match.group(1), {"join": join}, dict(values))
        return f"({result})" if isinstance(result, int) and result < 0 and match.start() else str(result)

    return re.sub(r"\{([^{}]*)\}", value, line)


def instances(names: str, values: str) -> Iterator[dict[str, Any]]:
    keys = [name.strip() for name in names.split(",")]
    for item in eval(f"[{values}]"):
        yield dict(zip(keys, item if isinstance(item, tuple) else (item,), strict=True))


def bound(text: str) -> int | None:
    return int(eval(text, {})) if text.strip() else None


def symbols(line: str) -> list[tuple[str, int | None, int | None]] | None:
    match = SYMBOLS.match(line)
    if match is None:
        return None
    lo, hi = bound(match.group(2)), bound(match.group(3))
    return [(name.strip(), lo, hi) for name in match.group(1).split(",")]


def expanded(lines: list[str], values: dict[str, Any]) -> Iterator[str]:
    for line in lines:
        each = EACH.match(line)
        if each is None:
            yield filled(line, values)
            continue
        for more in instances(each.group(1), filled(each.group(2), values)):
            yield filled(each.group(3), values | more)


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    header: re.Match[str] | None = None
    lines: list[str] = []

    def close() -> None:
        if header is None:
            return
        kind, name, keys, values = header.groups()
        for instance in instances(keys, values) if keys else [{}]:
            label = name + "".join(f" {key}={value}" for key, value in instance.items())
            found.append(Block(kind, label, list(expanded(lines, instance))))

    for raw in text.splitlines():
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        if not line:
            continue
        if started := HEADER.match(line):
            close()
            header, lines = started, []
        else:
            lines.append(line)
    close()
    return found
