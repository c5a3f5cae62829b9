"""Append-only lists, by static analysis of bytecode: their length is no guard.

    >>> from frontends.pytorch.python.appended import read_otherwise
    >>> def f(x):
    ...     self.log.append(x.sum())
    ...     seen.append(len(names))
    ...     return x
    >>> found = read_otherwise(f.__code__)
    >>> [name in found for name in ("log", "seen", "names")]
    [False, False, True]

A name is an attribute, a global, or a variable of a closure. Each time that it is mentioned, the next instruction has
to load `append` or `extend`, which add to what is there whatever that is, and give None.
"""

from __future__ import annotations

import dis
from collections import deque
from functools import lru_cache
from types import CodeType
from typing import Final

GROWING: Final = frozenset(("append", "extend"))
METHODS: Final = frozenset(("LOAD_METHOD", "LOAD_ATTR"))
NAMES: Final = frozenset(
    ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
)
NOTHING: Final = frozenset(("EXTENDED_ARG", "CACHE", "NOP"))
PASSED: Final = frozenset(("LOAD_CLOSURE", "MAKE_CELL", "COPY_FREE_VARS"))
"""What hands the variable of a closure on to a function, whose code is looked at as well."""


@lru_cache(maxsize=4096)
def read_otherwise(code: CodeType) -> frozenset[str]:
    """The names in code, and in the functions inside of it, that are not only appended to. Of local variables too."""
    found: set[str] = set()
    before: str | None = None
    for each in dis.get_instructions(code):
        if each.opname in NOTHING:
            continue
        if before is not None and not (each.opname in METHODS and each.argval in GROWING):
            found.add(before)
        before = None
        if not isinstance(each.argval, str) or each.opname in PASSED or each.opname.startswith(("LOAD_CONST", "KW_")):
            continue
        if each.opname in NAMES:
            before = each.argval if each.argval not in GROWING else None
        else:
            found.add(each.argval)
    if "locals" in code.co_names:
        found.update(code.co_freevars, code.co_cellvars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= read_otherwise(inner)
        elif isinstance(inner, tuple):
            # attributes that a pattern asks for
            found.update([each for each in inner if isinstance(each, str)])
    return frozenset(found)


def can_grow(value: object) -> bool:
    """Whether what is appended to a value is only added to it."""
    return type(value) is list or (type(value) is deque and value.maxlen is None)


WHOLE: Final = frozenset(("__self__", "dump", "dumps", "Pickler"))
"""Names of a method's own object, and of what looks into all that an object holds."""


__all__ = ["read_otherwise"]
