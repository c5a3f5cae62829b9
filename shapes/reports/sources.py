"""Source lines for a report: the lines that caused something, with their neighbours.

>>> import linecache
>>> linecache.cache["<example>"] = (0, None, [f"line {n}\\n" for n in range(1, 40)], "<example>")
>>> from shapes.reports.records import Entry
>>> (found,) = excerpts([Entry("guard", "s >= 2", file="<example>", line=10)])
>>> found.numbers, found.lines[0]
((6, 7, 8, 9, 10, 11, 12, 13), 'line 6')
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from typing import Final

from shapes.reports.records import Entry, Excerpt

BEFORE: Final = 4
AFTER: Final = 3
LONGEST_FUNCTION: Final = 400
"""A function of more lines is shown around its entries alone."""


def excerpts(entries: Iterable[Entry], functions: Iterable[tuple[str, int, int]] = ()) -> tuple[Excerpt, ...]:
    """The lines of the entries with some around them, and whole functions (file, first and last line); a file each."""
    wanted: dict[str, set[int]] = {}
    for file, first, last in functions:
        if file and last - first < LONGEST_FUNCTION:
            wanted.setdefault(file, set()).update(range(first, last + 1))
    for entry in entries:
        if entry.file:
            around = range(max(1, entry.line - BEFORE), entry.line + AFTER + 1)
            wanted.setdefault(entry.file, set()).update(around)
    found = []
    for file, numbers in wanted.items():
        lines = _lines(file)
        shown = tuple(sorted([number for number in numbers if 0 < number <= len(lines)]))
        if shown:
            found.append(Excerpt(file, shown, tuple([lines[number - 1].rstrip("\n") for number in shown])))
    return tuple(found)


def _lines(file: str) -> list[str]:
    try:
        return linecache.getlines(file)
    except Exception:  # doctest puts a reader of its own into `linecache`, which fails on sources of an earlier test
        return []


__all__ = ["excerpts"]
