"""The thread's active trace, as seen by intercepted calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from frontends.pytorch.errors import GraphBreak, TraceError
from frontends.pytorch.python.importing import FirstImport
from shapes.errors import UndecidedGuard

if TYPE_CHECKING:
    from frontends.pytorch.python.messages import Messages


class ActiveTrace(Protocol):
    """A trace, or a program that runs with graph breaks.

    Attributes:
        raised: errors of the trace, which eager torch would not raise and the program may have caught.
        messages: records printing and logging; None if the graph has no side effects.
    """

    messages: Messages | None

    @property
    def raised(self) -> list[TraceError | UndecidedGuard | FirstImport]: ...

    @property
    def is_of_graph(self) -> bool: ...

    def default_generator(self, name: str, plain: Callable[..., object], args: tuple[object, ...]) -> object: ...

    def refuse(self, what: str, fix: str, kind: type[GraphBreak] = GraphBreak) -> None: ...


current: Final = threading.local()
"""`stack`: the active traces of this thread, the innermost last."""


def tracing() -> ActiveTrace | None:
    """The innermost trace of this thread."""
    found: list[ActiveTrace] | None = getattr(current, "stack", None)
    return found[-1] if found else None
