"""Static analysis of names in bytecode: globals, attributes, imported modules.

    >>> from frontends.pytorch.python.mentions import mentions_of
    >>> def f(x):
    ...     import math
    ...     return lambda: math.floor(factor * x.size(0))
    >>> found = mentions_of(f.__code__)
    >>> found.globals, found.attributes, found.imports
    (('factor',), ('math', 'floor', 'size'), ('math',))

Inner functions are included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from dis import hasname, opmap
from types import CellType, CodeType, FunctionType
from typing import Final

from frontends.pytorch.python.weak_memo import while_alive

EXTENDED: Final = opmap["EXTENDED_ARG"]
LOAD_GLOBAL: Final = opmap["LOAD_GLOBAL"]
BY_NAME: Final = frozenset([opmap[name] for name in ("LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL") if name in opmap])
NEWER: Final = sys.version_info >= (3, 12)
IMPORT: Final = opmap["IMPORT_NAME"]
ATTRIBUTES: Final = frozenset(hasname) - BY_NAME - {LOAD_GLOBAL}
SHIFTED: Final = {opmap[name]: bits for name, bits in (("LOAD_ATTR", 1), ("LOAD_SUPER_ATTR", 2)) if name in opmap}
"""The number of flag bits in the argument, from Python 3.12 on."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The names in code.

    Attributes:
        attributes: all names that are no globals, including those of imported modules and their attributes.
        inside: the code of inner functions.
        passed: the globals that are used as values, not only called.
    """

    globals: tuple[str, ...]
    attributes: tuple[str, ...]
    imports: tuple[str, ...]
    inside: tuple[CodeType, ...]
    passed: frozenset[str]


def codes(code: CodeType) -> list[CodeType]:
    """Code and its inner functions."""
    return [code, *[each for inner in code.co_consts if isinstance(inner, CodeType) for each in codes(inner)]]


def closure_of(function: FunctionType) -> Iterator[tuple[str, CellType, object]]:
    """The variables of a function's closure that are assigned: name, cell and value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with suppress(ValueError):
            yield name, cell, cell.cell_contents


def location(code: CodeType) -> tuple[str, int, str]:
    """The location of code, which is unchanged by interception."""
    return code.co_filename, code.co_firstlineno, code.co_qualname


@while_alive
def mentions_of(code: CodeType) -> Mentions:
    """The names in code."""
    names = code.co_names
    scope: dict[str, None] = {}
    attributes: dict[str, None] = {}
    imports: dict[str, None] = {}
    passed: set[str] = set()
    raw, high = code.co_code, 0
    for place in range(0, len(raw), 2):
        operation, argument = raw[place], high | raw[place + 1]
        high = argument << 8 if operation == EXTENDED else 0
        if operation == LOAD_GLOBAL:
            scope[names[argument >> 1]] = None
            if not argument & 1:
                passed.add(names[argument >> 1])
        elif operation in BY_NAME:
            scope[names[argument]] = None
        elif operation in ATTRIBUTES:
            name = names[argument >> SHIFTED.get(operation, 0)] if NEWER else names[argument]
            attributes[name] = None
            if operation == IMPORT:
                imports[name] = None
    attributes |= dict.fromkeys([part for name in imports for part in name.split(".") if part])
    inside = [each for each in code.co_consts if type(each) is CodeType]
    for each in inside:
        found = mentions_of(each)
        scope |= dict.fromkeys(found.globals)
        attributes |= dict.fromkeys(found.attributes)
        imports |= dict.fromkeys(found.imports)
        passed |= found.passed
        inside = [*inside, *found.inside]
    # names that a test runner inserts in rewritten functions are no identifiers
    scope = {name: None for name in scope if name.isidentifier()}
    return Mentions(tuple(scope), tuple(attributes), tuple(imports), tuple(inside), frozenset(passed))
