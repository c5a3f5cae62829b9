"""Certification from a command line: `shapes certify guards.txt --range s0=1..8192 --fact 's1 % 16 == 0'`.

`shapes certify MODULE:NAME` judges what a module has by that name: guards (`Conditions`), or what a reader among the
entry points `symshape.guards` knows, such as a compiled function; else a function that gives one of these.

>>> read_size("x.shape[0]=16..4096:16"), read_size("s0=1.."), read_size("b=4")
(('x.shape[0]', (16, 4096, 16)), ('s0', (1, None, 1)), ('b', (4, 4, 1)))
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Final, Literal, cast

from shapes.accepted import did_you_mean, shown
from shapes.certification.certificates import Certificate, Conditions
from shapes.certification.certifying import certify
from shapes.certification.formats import junit, sarif
from shapes.certification.guard_files import Unread, read_guards
from shapes.errors import ShapeError
from shapes.prompt import display
from shapes.prompt.grammar import read_range
from shapes.prompt.page import deliver, line, show, span
from shapes.sessions.long_json import dumps
from shapes.size_names import canonical, names_in
from solver.errors import ParseError

USAGE: Final = 64
UNREAD: Final = 65
"""The file has no guard that could be read (EX_DATAERR of sysexits.h)."""
NO_INPUT: Final = 66
NAMED: Final = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<name>[^\W\d][\w.]*)")
READERS: Final = "symshape.guards"
"""The entry points that read guards: given an object, its variants and whether they stand in for each other."""
Read = tuple[Sequence[Conditions], bool]
Form = Literal["text", "json", "sarif", "junit"]
FORMS: Final[Mapping[str, Callable[[Certificate, str], str]]] = {
    "json": lambda found, _: dumps(found.json()),
    "sarif": sarif,
    "junit": junit,
}
"""The writers of a certificate for other programs."""


def read_size(text: str) -> tuple[str, tuple[int | None, int | None, int]]:
    """`NAME=LO..HI`, `NAME=LO..HI:MULTIPLE` or `NAME=SIZE`; an end that is left out is unbounded."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise ParseError("expected NAME=LO..HI, NAME=LO..HI:MULTIPLE or NAME=SIZE", text, 0)
    limits = read_range(values.strip(), text, len(name) + 1)
    if limits[1] is not None and limits[1] < 0 or limits[0] is not None and limits[0] < 0:
        raise ParseError(f"`{name.strip()}` is a size, and sizes are not negative", text, len(name) + 1)
    return name.strip(), limits


def read_sizes(ranges: Sequence[str]) -> dict[str, tuple[int | None, int | None, int]]:
    """The ranges of sizes by name, each given once."""
    sizes: dict[str, tuple[int | None, int | None, int]] = {}
    for text in ranges:
        name, limits = read_size(text)
        if canonical(name) in map(canonical, sizes):
            raise ParseError(f"`{name}` has two ranges", text, 0)
        sizes[name] = limits
    return sizes


def named_object(text: str) -> object:
    """The object of a module with this name: `MODULE:NAME`.

    Raises:
        ShapeError: the module cannot be imported, or has nothing of that name.
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
    if text == "-" or Path(text).exists() or NAMED.fullmatch(text) is None:
        if not text.endswith(".pt2") or not Path(text).is_file():
            return read_guards(text if text == "-" else Path(text), session), True
        found = next(read_by_all(Path(text)), None)
        if found is None:
            raise ShapeError(f"{text}: exported programs are read with the extra torch: pip install 'symshape[torch]'")
        return found
    value = named_object(text)
    found = next(read_by_all(value), None)
    if found is None and isinstance(value, FunctionType):
        try:
            value = value()
        except Exception as error:  # whatever the program raises
            raise ShapeError(f"{text}(): {type(error).__name__}: {error}") from None
        found = next(read_by_all(value), None)
    if found is None:
        raise ShapeError(f"{text} is {shown(value)}: it has no guards that `certify` can read")
    return found


def read_by_all(value: object) -> Iterator[Read]:
    """The guards of an object, by each reader that recognizes it.

    Raises:
        ShapeError: none does, but one lacks a library that is not installed.
    """
    if isinstance(value, Conditions):
        yield [value], True
        return
    recognized, missing = False, ""
    for each in entry_points(group=READERS):
        try:
            reader = cast(Callable[[object], Read | None], each.load())
        except ImportError as error:
            missing = str(error)
            continue
        found = reader(value)
        if found is not None:
            recognized = True
            yield found
    if missing and not recognized:
        raise ShapeError(missing)


def certify_named(
    what: str,
    ranges: Sequence[str],
    facts: Sequence[str],
    *,
    session: str | None = None,
    form: Form = "text",
    solvers: bool = True,
) -> int:
    """Print whether the guards of a file, or of what a module has, hold; the result is the exit status."""
    try:
        sizes = read_sizes(ranges)
        variants, alternatives = guards_of(what, session)
        check_mentioned(variants, list(sizes), facts)
        found = certify(variants, sizes, facts, alternatives=alternatives, solvers=solvers)
    except OSError as error:
        show([line(span("error", "error"), f"     {what}: {error.strerror or error}")], sys.stderr)
        return NO_INPUT
    except ShapeError as error:
        show(display.error_page(error), sys.stderr)
        return UNREAD if isinstance(error, Unread) else USAGE
    deliver(lambda: print(FORMS[form](found, what)) if form != "text" else show(found.page(), sys.stdout))
    return found.exit_status


def check_mentioned(variants: Sequence[Conditions], sizes: Sequence[str], facts: Sequence[str]) -> None:
    """Check that what the caller says is about sizes of the guards: a mistyped name would say nothing.

    Raises:
        ShapeError: a range of a size, or a fact, that has nothing to do with any guard.
    """
    known = {name for each in variants for name in (*each.names, *each.names.values(), *(each.inputs or ()))}
    for each in variants:
        for condition in each.conditions:
            known |= set() if condition.fault else set(names_in(condition.text))
    connected = {name for text in facts if not known.isdisjoint(names := names_in(text)) for name in names}
    among = sorted({*known, *connected})
    said = [*[(canonical(name), f"the range of `{name}`") for name in sizes]]
    said += [(name, f"the fact `{text}`") for text in facts for name in names_in(text)]
    for name, where in said:
        if name not in among:
            listed = ", ".join(among[:12]) + (", ..." if len(among) > 12 else "") if among else "none"
            raise ShapeError(f"{where}: no guard is about `{name}`; there are {listed}{did_you_mean(name, among)}")


__all__ = ["certify_named", "read_size", "read_sizes"]
