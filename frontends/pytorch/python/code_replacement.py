"""Replace the code of traced functions by code with intercepted calls, while a trace runs.

    >>> from frontends.pytorch.python.code_replacement import own_code, replace_code, restore_code
    >>> def f(n):
    ...     return max(n, 16)
    >>> own = f.__code__
    >>> replace_code(f, {id(max): "<greatest>"}), f.__code__ is own, own_code(f) is own
    (True, False, True)
    >>> restore_code(f)
    >>> f.__code__ is own
    True

The caller holds `interception`'s lock.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Final

from frontends.pytorch.python.rewriting import rewritten

replaced: Final[dict[int, tuple[FunctionType, CodeType, CodeType, int]]] = {}
"""By identity, functions with replaced code: the function, its own code, the replacement, and the number of traces
using it."""
_known: Final[weakref.WeakKeyDictionary[FunctionType, tuple[CodeType, CodeType]]] = weakref.WeakKeyDictionary()


def replace_code(function: FunctionType, replacements: Mapping[int, str]) -> bool:
    """Intercept the calls of these values (by identity) in a function; returns whether there are any."""
    entry = replaced.get(id(function))
    if entry is None:
        own = function.__code__
        known = _known.get(function)
        if known is None or known[0] is not own:
            known = _known[function] = (own, rewritten(own, function.__globals__, replacements))
        changed = known[1]
        if changed is own:
            return False
        entry = (function, own, changed, 0)
        function.__code__ = changed
    replaced[id(function)] = (*entry[:3], entry[3] + 1)
    return True


def restore_code(function: FunctionType) -> None:
    """Undo one `replace_code`; the function has its own code again when all are undone."""
    _, own, changed, count = replaced[id(function)]
    replaced[id(function)] = (function, own, changed, count - 1)
    if count == 1:
        del replaced[id(function)]
        if function.__code__ is changed:
            function.__code__ = own


def is_rewritten(function: FunctionType) -> bool:
    """Whether calls in a function were intercepted when it was last traced."""
    known = _known.get(function)
    return known is not None and known[0] is own_code(function)


def own_code(function: FunctionType) -> CodeType:
    """The original code of a function, even while a trace has replaced it."""
    entry = replaced.get(id(function))
    return function.__code__ if entry is None else entry[1]
