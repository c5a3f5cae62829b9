"""A function of a higher layer that a lower one calls: `solver.wiring` says where it is, the first call loads it.

    >>> from solver.hooks import Hook
    >>> logarithm = Hook()
    >>> @logarithm.loaded_by
    ... def load():
    ...     from math import log2
    ...     return log2
    >>> logarithm.call(8.0)
    3.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Function = TypeVar("Function")


class Hook(Generic[Function]):
    """A place for one function."""

    __slots__ = ("_load", "call")

    call: Function

    def loaded_by(self, load: Callable[[], Function]) -> None:
        """Register what imports the function."""
        self._load = load

    def __getattr__(self, name: str) -> Function:
        """The function, when it is called for the first time."""
        if name != "call":
            raise AttributeError(name)
        self.call = self._load()
        return self.call
