"""A function of a higher layer that a lower one calls: `solver.wiring` fills it, when the package is imported.

    >>> from math import log2
    >>> from solver.hooks import Hook
    >>> logarithm = Hook()
    >>> logarithm.call = log2
    >>> logarithm.call(8.0)
    3.0
"""

from __future__ import annotations

from typing import Generic, TypeVar

Function = TypeVar("Function")


class Hook(Generic[Function]):
    """A place for one function."""

    __slots__ = ("call",)

    call: Function
