"""Frames that Dynamo leaves to Python, and why.

    >>> import torch
    >>> from torch._dynamo import config
    >>> from frontends.pytorch.dynamo.skipped_frames import noted
    >>> @torch.compile(backend="eager")
    ... def f(x):
    ...     return x.view(7)
    >>> with config.patch(suppress_errors=True), noted() as reasons:
    ...     f(torch.ones(3))
    Traceback (most recent call last):
    RuntimeError: shape '[7]' is invalid for input of size 3
    >>> len(reasons)
    1

With `suppress_errors` Dynamo runs a frame as Python on which it fails, and logs the error with its own stack. Here such
errors of this thread are noted instead, each as one line.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from torch._dynamo.utils import counters

from frontends.pytorch.source_location import innermost

SUPPRESSED: Final = logging.getLogger("torch._dynamo.convert_frame")
BREAKS: Final = "graph_break"
"""Torch's counter of graph breaks, by reason."""


@contextmanager
def noted() -> Iterator[list[str]]:
    """The reasons why Dynamo leaves frames of this thread to Python inside of the block; graph breaks last."""
    thread, reasons = threading.get_ident(), list[str]()

    def is_kept(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if record.thread != thread or error is None:
            return True
        reasons.append(described(error))
        return False

    before = dict(counters[BREAKS])
    SUPPRESSED.addFilter(is_kept)
    try:
        yield reasons
    finally:
        SUPPRESSED.removeFilter(is_kept)
        reasons += [in_short(text) for text, count in counters[BREAKS].items() if count > before.get(text, 0)]


def described(error: BaseException) -> str:
    """An error of Dynamo's in one line, with the program's line."""
    place = innermost(getattr(error, "real_stack", None) or ())
    return f"{type(error).__name__}: {in_short(str(error))}" + ("" if place is None else f"    ({place})")


def in_short(text: str) -> str:
    """The first line of a text."""
    return text.strip().partition("\n")[0]
