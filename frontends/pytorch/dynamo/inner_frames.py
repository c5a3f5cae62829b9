"""Frames of functions that a compiled one calls, and that Dynamo compiles for themselves: after a graph break in one.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> def inner(x):
    ...     y = x * 2
    ...     print(end="")
    ...     return y.relu()
    >>> f = compile(lambda x: inner(x) + 1)
    >>> for _ in range(2):
    ...     out = f(torch.ones(2))
    >>> len(f.graphs)
    3

Their code is compiled code only where Dynamo evaluates frames, so that calls go through torch's wrapper. The settings
of a capture are those of the program, set where a frame is captured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import CodeType
from typing import Any, Final, Protocol
from weakref import ReferenceType

from frontends.pytorch.dynamo.differences import has_graph
from frontends.pytorch.dynamo.graph_breaks import RESUMED

CAPTURING: Final[ContextVar[object]] = ContextVar("symshape_capturing", default=None)
"""The program for which this thread has the settings of a capture."""


class Capturing(Protocol):
    def settings(self) -> AbstractContextManager[None]: ...


def is_inner(code: CodeType, transformed: CodeType, outer: CodeType) -> bool:
    """Return True for the code of a function with a graph that is neither `outer` nor the rest of a function."""
    return code is not outer and not code.co_name.startswith(RESUMED) and has_graph(transformed)


def with_settings(callback: Callable[..., Any], holder: ReferenceType[Any]) -> Callable[..., Any]:
    """Torch's callback for a frame that is to be captured, under the settings of a program."""

    @functools.wraps(callback)
    def captures(*args: Any, **kwargs: Any) -> Any:
        program: Capturing | None = holder()
        if program is None or CAPTURING.get() is program:
            return callback(*args, **kwargs)
        with program.settings():
            return callback(*args, **kwargs)

    return captures
