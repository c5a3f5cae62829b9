"""Source locations: which files are the program's, and which of its lines runs or raised an error.

    >>> import torch
    >>> from frontends.pytorch.source_location import is_users, origin
    >>> is_users(torch.__file__), is_users("/home/me/model.py")
    (False, True)
    >>> print(origin())
    <doctest ...>:1
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterable
from traceback import FrameSummary
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Final

import sympy
import torch
from torch._guards import TracingContext

from shapes.origin import Origin, StackWalk

origin: Final = StackWalk(
    skip=["<eval_with_key>", *[os.path.dirname(module.__file__) + os.sep for module in (torch, sympy)]]
)
"""The program's current line: not one of torch or its graphs, of us or of Python's standard library."""


def is_users(file: str) -> bool:
    """Return True if a file belongs to the program."""
    return not origin.skips(file)


def own_name(function: str) -> str:
    """The name of a function, without what Dynamo adds to that of the rest after a graph break."""
    return re.sub(r"^torch_dynamo_resume_in_(.*)_at_\d+$", r"\1", function)


def name_of(fn: object) -> str:
    """The name of a function, or of the class of something else, which may have any attributes."""
    return fn.__qualname__ if isinstance(fn, FunctionType | MethodType | BuiltinFunctionType) else type(fn).__qualname__


def user_line() -> Origin | None:
    """The line that Dynamo reads, or else the innermost one outside of torch."""
    context = TracingContext.try_get()
    if context is not None:
        stack = TracingContext.extract_stack()
        if stack:
            frame = next((each for each in reversed(stack) if is_users(each.filename)), stack[-1])
            return Origin(frame.filename, frame.lineno or 0, own_name(frame.name), segment_of(frame))
    return origin()


def segment_of(frame: FrameSummary) -> str:
    """The piece of the line that Dynamo reads, where it knows the columns, which are in bytes."""
    begin, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    if begin is None or end is None or end <= begin:
        return ""
    return linecache.getline(frame.filename, frame.lineno or 0).encode()[begin:end].decode(errors="replace")


def innermost(stack: Iterable[FrameSummary]) -> Origin | None:
    """The innermost line of the program in a stack."""
    frames = [each for each in stack if is_users(each.filename)]
    return Origin(frames[-1].filename, frames[-1].lineno or 0, own_name(frames[-1].name)) if frames else None


def place_of(error: BaseException) -> Origin | None:
    """The innermost line of the program in an error's traceback."""
    found = None
    step = error.__traceback__
    while step is not None:
        if is_users(step.tb_frame.f_code.co_filename):
            found = Origin.of_instruction(step.tb_frame.f_code, step.tb_lasti)
        step = step.tb_next
    return found


def checks_of_truth(tested: str) -> str:
    """The checks by which a program states what a boolean always is."""
    named = tested if tested.isidentifier() else "flag"
    read = "" if named == tested else f"flag = {tested}; "
    return f"{read}{whichever_holds(named)}"


def whichever_holds(condition: str) -> str:
    return f"torch._check({condition}) or torch._check(torch.sym_not({condition})), whichever always holds"
