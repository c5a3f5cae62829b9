"""Append-only lists, by static analysis of bytecode: their length is no guard.

    >>> from frontends.pytorch.python.appended import read_otherwise
    >>> def f(x):
    ...     self.log.append(x.sum())
    ...     seen.append(len(names))
    ...     return x
    >>> found = read_otherwise(f.__code__)
    >>> [name in found for name in ("log", "seen", "names")]
    [False, False, True]

A name is an attribute, a global, or a closure's variable. After every mention, the next instruction must load `append`
or `extend`, which do not read the list and return None.
"""

from __future__ import annotations

import dis
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Final

GROWING: Final = frozenset(("append", "extend"))
ATTRIBUTES: Final = frozenset(("LOAD_METHOD", "LOAD_ATTR"))
NAMED: Final = ATTRIBUTES | {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
PASSED: Final = frozenset(("LOAD_CLOSURE", "MAKE_CELL", "COPY_FREE_VARS"))
"""Instructions that pass a closure's variable to an inner function, whose code is analyzed as well."""
SKIPPED: Final = frozenset(("CACHE", "NOP", "PRECALL", "RESUME", "EXTENDED_ARG"))


def steps_of(code: CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname not in SKIPPED]


@lru_cache(maxsize=4096)
def names_unless(
    code: CodeType, is_fine: Callable[[dis.Instruction, dis.Instruction], bool]
) -> frozenset[str]:
    """The names in code, and in the functions inside of it, but those that are only loaded where the next instruction
    makes that `is_fine`. Of local variables too."""
    steps = steps_of(code)
    found: set[str] = set()
    for step, following in zip(steps, (*steps[1:], None)):
        if not isinstance(step.argval, str) or step.opname in PASSED or step.opname.startswith(("LOAD_CONST", "KW_")):
            continue
        if step.opname not in NAMED or following is None or not is_fine(step, following):
            found.add(step.argval)
    if "locals" in code.co_names:
        found.update(code.co_freevars, code.co_cellvars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= names_unless(inner, is_fine)
        elif isinstance(inner, tuple):
            # attributes read by a pattern
            found.update([each for each in inner if isinstance(each, str)])
    return frozenset(found)


def read_otherwise(code: CodeType) -> frozenset[str]:
    """The names that are not only appended to."""
    return names_unless(code, _is_appended)


def _is_appended(step: dis.Instruction, following: dis.Instruction) -> bool:
    return step.argval in GROWING or (following.opname in ATTRIBUTES and following.argval in GROWING)


def can_grow(value: object) -> bool:
    """Whether appending to a value only adds an item."""
    return type(value) is list or (type(value) is deque and value.maxlen is None)


WHOLE: Final = frozenset(("__self__", "dump", "dumps", "Pickler"))
"""Names that expose a method's object, or traverse everything that an object references."""
