"""Observable lifetimes: calls that let a program observe the end of an object, by a weak reference or `__del__`.

    >>> import weakref
    >>> from frontends.pytorch.python.lifetimes import is_told_of_its_end, refers_weakly
    >>> class Told:
    ...     __module__ = "program"
    ...     def __del__(self):
    ...         print("gone")
    >>> refers_weakly(weakref.ref, [object()]), refers_weakly(map, [weakref.ref, []]), refers_weakly(len, [[]])
    (True, True, False)
    >>> is_told_of_its_end(Told, []), is_told_of_its_end(object.__new__, [Told]), is_told_of_its_end(object, [])
    (True, True, False)

A trace that keeps such objects alive would hide their end from the program.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import BuiltinFunctionType
from typing import Any, Final

from frontends.pytorch.python.snapshots import is_torchs

COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Functions that are called immediately and referenced by nobody else."""


def refers_weakly(function: Any, given: Sequence[object]) -> bool:
    """Whether a call may create weak references."""
    return function is weakref.proxy or any(issubclass(each, weakref.ref) for each in classes_of(function, given))


def is_told_of_its_end(function: Any, given: Sequence[object]) -> bool:
    """Whether a call may create an object with a `__del__` of the program."""
    return any(hasattr(each, "__del__") and not is_torchs(each) for each in classes_of(function, given))


def classes_of(function: Any, given: Sequence[object]) -> list[type]:
    """The classes that a call may instantiate."""
    # an object may compute `__self__` dynamically
    owner = function.__self__ if isinstance(function, BuiltinFunctionType) else None
    return [each for each in (function, owner, *given) if isinstance(each, type)]
