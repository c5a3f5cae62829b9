"""Concurrency control: one thread at a time, and inside of a scope only the thread that opened it.

    >>> from threading import RLock
    >>> access = Access(RLock())
    >>> access.enter()
    >>> access.owners == (get_ident(),)
    True
    >>> access.leave()
    >>> access.owners
    ()

The lock is the interner's, so that environments that share one, such as forks, exclude each other as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import get_ident
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from shapes.errors import ConcurrentScope

P = ParamSpec("P")
R = TypeVar("R")
Q = TypeVar("Q", bound="Shared")


class Lock(Protocol):
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Access:
    """The lock of an environment, and the threads whose scopes are open."""

    __slots__ = ("lock", "owners")

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.owners: tuple[int, ...] = ()
        """The threads whose hypotheses and speculations are open, outermost first."""

    def enter(self) -> None:
        """Begin answers under a hypothesis, which are for this thread alone."""
        self.owners = (*self.owners, get_ident())

    def leave(self) -> None:
        """The innermost scope ends."""
        self.owners = self.owners[:-1]

    def refuse_others(self, asked: str) -> None:
        """End a call of a thread that is not the one whose scope is open."""
        if self.owners[-1] != get_ident():
            raise ConcurrentScope(asked)


class Shared(Protocol):
    """The attributes of an environment, or of a part of one, that `synchronized` needs."""

    @property
    def _access(self) -> Access: ...


def synchronized(method: Callable[Concatenate[Q, P], R]) -> Callable[Concatenate[Q, P], R]:
    """A method that one thread runs at a time, of this environment and of those that share its interner.

    Raises:
        ConcurrentScope: another thread is inside a hypothesis or speculation of this environment.
    """

    def run(self: Q, /, *args: P.args, **keywords: P.kwargs) -> R:
        access = self._access
        with access.lock:
            if access.owners:
                access.refuse_others(method.__name__.strip("_"))
            return method(self, *args, **keywords)

    update_wrapper(run, method)
    return run
