"""The user's line that torch is at.

>>> from frontends.pytorch.shape_env.source_places import user_line
>>> user_line() is not None
True
"""

from __future__ import annotations

import linecache
import os
import traceback
from typing import Final

import sympy
import torch
from torch._guards import TracingContext

from shapes.origin import Origin, StackWalk

PYTHON: Final = StackWalk(skip=[os.path.dirname(module.__file__) + os.sep for module in (torch, sympy)])


def user_line() -> Origin | None:
    """The line that Dynamo reads, or else the innermost one outside of torch."""
    context = TracingContext.try_get()
    if context is not None:
        stack = TracingContext.extract_stack()
        if stack:
            frame = stack[-1]
            return Origin(frame.filename, frame.lineno or 0, frame.name, segment_of(frame))
    return PYTHON()


def segment_of(frame: traceback.FrameSummary) -> str:
    """The piece of the line that Dynamo reads, where it knows the columns, which are in bytes."""
    begin, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    if begin is None or end is None or end <= begin:
        return ""
    return linecache.getline(frame.filename, frame.lineno or 0).encode()[begin:end].decode(errors="replace")
