"""Certification from a command line: `shapes certify guards.txt --range s0=1..8192 --fact 's1 % 16 == 0'`.

`shapes certify MODULE:NAME` judges what a module has by that name: guards (`Conditions`), or what a reader among the
entry points `symshape.guards` knows, such as a compiled function; else a function that gives one of these.

>>> read_range("x.shape[0]=16..4096:16"), read_range("s0=1.."), read_range("b=4")
(('x.shape[0]', (16, 4096, 16)), ('s0', (1, None, 1)), ('b', (4, 4, 1)))
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Final, cast

from shapes.accepted import shown
from shapes.certification.certificates import Certificate, Condition, Conditions
from shapes.certification.certifying import certify
from shapes.certification.guard_files import read_guards
from shapes.errors import ShapeError, sizes_text
from shapes.origin import Origin
from shapes.prompt import display
from shapes.prompt.page import Page, Style, columns, line, show, span
from shapes.sessions.long_json import dumps
from solver.errors import ParseError

USAGE: Final = 64
NO_INPUT: Final = 66
RANGE: Final = re.compile(r"(?P<name>[^=]+)=(?P<lo>-?\d+)?(?P<dots>\.\.)?(?P<hi>-?\d+)?(?::(?P<multiple>\d+))?")
NAMED: Final = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<name>[^\W\d][\w.]*)")
READERS: Final = "symshape.guards"
"""The entry points that read guards: given an object, its variants and whether they stand in for each other."""
Read = tuple[Sequence[Conditions], bool]
STYLES: Final[dict[str, Style]] = {
    "proven": "always",
    "refuted": "never",
    "unknown": "gave up",
    "contradictory": "error",
}


def read_range(text: str) -> tuple[str, tuple[int | None, int | None, int]]:
    """`NAME=LO..HI`, `NAME=LO..HI:MULTIPLE` or `NAME=SIZE`; an end that is left out is unbounded."""
    found = RANGE.fullmatch(text.replace(" ", ""))
    if found is None or not (found["dots"] or found["lo"]) or (found["hi"] and not found["dots"]):
        raise ParseError("expected NAME=LO..HI, NAME=LO..HI:MULTIPLE or NAME=SIZE", text, 0)
    lo, hi, multiple = [None if found[part] is None else int(found[part]) for part in ("lo", "hi", "multiple")]
    return found["name"], (lo, hi if found["dots"] else lo, 1 if multiple is None else multiple)


def named_object(text: str) -> object:
    """The object of a module with this name: `MODULE:NAME`.

    Raises:
        ShapeError: the module can not be imported, or has nothing of that name.
    """
    found = NAMED.fullmatch(text)
    assert found is not None
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return attrgetter(found["name"])(importlib.import_module(found["module"]))
    except Exception as error:  # whatever the module raises
        raise ShapeError(f"{text}: {type(error).__name__}: {error}") from None


def guards_of(text: str, session: str | None) -> Read:
    """The guards in a file, or of what a module has."""
    if Path(text).exists() or NAMED.fullmatch(text) is None:
        return [read_guards(Path(text), session)], True
    value = named_object(text)
    found = next(read_by_all(value), None)
    if found is None and isinstance(value, FunctionType):
        try:
            value = value()
        except Exception as error:  # whatever the program raises
            raise ShapeError(f"{text}(): {type(error).__name__}: {error}") from None
        found = next(read_by_all(value), None)
    if found is None:
        raise ShapeError(f"{text} is {shown(value)}: nothing with guards that could be read")
    return found


def read_by_all(value: object) -> Iterator[Read]:
    """The guards of an object, by each reader that recognizes it."""
    if isinstance(value, Conditions):
        yield [value], True
        return
    for each in entry_points(group=READERS):
        reader = cast(Callable[[object], Read | None], each.load())
        found = reader(value)
        if found is not None:
            yield found


def certify_named(
    what: str,
    ranges: Sequence[str],
    facts: Sequence[str],
    *,
    session: str | None = None,
    as_json: bool = False,
    solvers: bool = True,
) -> int:
    """Print whether the guards of a file, or of what a module has, hold; the result is the exit status."""
    try:
        sizes = dict(map(read_range, ranges))
        variants, alternatives = guards_of(what, session)
        found = certify(variants, sizes, facts, alternatives=alternatives, solvers=solvers)
    except OSError as error:
        show([line(span("error", "error"), f"     {what}: {error.strerror or error}")], sys.stderr)
        return NO_INPUT
    except ShapeError as error:
        show(display.error_page(error), sys.stderr)
        return USAGE
    if as_json:
        print(dumps(found.json()))
    else:
        show(page_of(found), sys.stdout)
    return found.exit_status


def page_of(found: Certificate) -> Page:
    """The page for a person: the answer, and a line for each guard that is in doubt."""
    head, *_ = str(found).splitlines()
    status, _, rest = head.partition(":")
    page = [line(span(f"{status:14} ", STYLES[status]), rest.strip())]
    rows = [
        [
            span(f"  {each.guard}", "fact"),
            span(f"fails at {sizes_text(each.size)}"),
            span(place_of(each.condition), "line"),
        ]
        for each in found.findings
    ]
    rows += [
        [span(f"  {each.guard}", "fact"), span(f"not shown: {each.reason}"), span(place_of(each.condition), "line")]
        for each in found.not_shown
    ]
    return [*page, *columns(rows), *[line(span(f"  assumed  {text}", "muted")) for text in found.assumed]]


def place_of(condition: Condition) -> str:
    """The line of the program, with its text where that can be read, or of the file."""
    if isinstance(condition.origin, Origin):
        return condition.where
    return condition.why or (f"line {condition.line}" if condition.line is not None else "")


__all__ = ["certify_named", "read_range"]
