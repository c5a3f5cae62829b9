"""Frames that Dynamo leaves to Python, and why.

    >>> import torch
    >>> from torch._dynamo import config
    >>> from frontends.pytorch.dynamo.skipped_frames import noted
    >>> @torch.compile(backend="eager")
    ... def f(x):
    ...     return x.view(7)
    >>> reasons = []
    >>> with config.patch(suppress_errors=True), noted(reasons):
    ...     f(torch.ones(3))
    Traceback (most recent call last):
    RuntimeError: shape '[7]' is invalid for input of size 3
    >>> len(reasons)
    1

With `suppress_errors` Dynamo runs a frame as Python on which it fails, and logs the error with its own stack. Here such
errors of this thread are noted instead, each as one line. A frame without operators on tensors has nothing to compile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from torch._dynamo.eval_frame import dynamo_tls, get_skip_reasons, reset_skip_reasons
from torch._dynamo.exc import Unsupported
from torch._dynamo.utils import counters

from frontends.pytorch.source_location import innermost

SUPPRESSED: Final = logging.getLogger("torch._dynamo.convert_frame")
BREAKS: Final = "graph_break"
"""Torch's counter of graph breaks, by reason."""


NO_OPERATORS: Final = "no operators on tensors"
EMPTY: Final = ("No ops traced", "no tensor-related objects found")
"""Words in torch's reasons for skipping such a frame."""


class NoOperators(Unsupported):
    """A frame that is to be one graph, and has no operators on tensors."""


@contextmanager
def noted(reasons: list[str]) -> Iterator[None]:
    """Add the reasons why Dynamo leaves frames of this thread to Python inside of the block: errors, then graph breaks,
    or else why it has skipped the first frame."""
    thread = threading.get_ident()

    def is_kept(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if record.thread != thread or error is None:
            return True
        reasons.append(described(error))
        return False

    before, skipped = dict(counters[BREAKS]), dynamo_tls.skip_reasons
    reset_skip_reasons()
    SUPPRESSED.addFilter(is_kept)
    try:
        yield
    finally:
        SUPPRESSED.removeFilter(is_kept)
        reasons += [in_short(text) for text, count in counters[BREAKS].items() if count > before.get(text, 0)]
        for first in () if reasons else get_skip_reasons()[:1]:
            _, _, why = first.partition("): ")
            reasons.append(NO_OPERATORS if any(text in why for text in EMPTY) else in_short(why))
        dynamo_tls.skip_reasons = skipped


def described(error: BaseException) -> str:
    """An error of Dynamo's in one line, with the program's line."""
    place = innermost(getattr(error, "real_stack", None) or ())
    return f"{type(error).__name__}: {in_short(str(error))}" + ("" if place is None else f"    ({place})")


def in_short(text: str) -> str:
    """The first line of a text."""
    return text.strip().partition("\n")[0]
