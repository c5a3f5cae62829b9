"""Errors of a traced function caused by a size or by data: explained, and detected where the function catches them.

    >>> from frontends.pytorch.recording.caught_errors import explain, was_in_program
    >>> explain(TypeError("unhashable type: 'list'"))                    # none of a size
    >>> was_in_program(ValueError())
    False
"""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.source_location import STANDARD, place_of
from shapes.errors import UndecidedGuard

NUMBERS: Final = ("SymInt", "SymFloat", "SymBool")
NUMBER: Final = "`int(n)` outside of the traced function, or a function that keeps it symbolic (torch.sym_max, ...)"


def explain(error: BaseException) -> None:
    """Add a fix to an error that is caused by a size or by data.

    Raises:
        GraphBreak: a `TypeError` because something does not accept a symbolic size.
    """
    if isinstance(error, UndecidedGuard):
        if error.fix.startswith("expect_true("):
            condition = error.fix.removeprefix("expect_true(").partition("), or ask")[0]
            error.fix = (
                f"torch._check({condition}) if it always holds; else torch.where, or torch.cond with both branches;"
                " fullgraph=False breaks the graph here"
            )
    elif isinstance(error, TypeError) and (any(name in str(error) for name in NUMBERS) or was_given_number(error)):
        place = place_of(error)
        if place is not None:
            raise GraphBreak(refusal(f"a size where a plain number is needed: {error}", NUMBER, place)) from error


def was_given_number(error: TypeError) -> bool:
    """Whether an error was raised by the standard library for a symbolic number."""
    frame, step = None, error.__traceback__
    while step is not None:
        frame, step = step.tb_frame, step.tb_next
    if frame is None or not frame.f_code.co_filename.startswith(STANDARD):
        return False
    return any(isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) for value in frame.f_locals.values())


def was_in_program(error: BaseException) -> bool:
    """Whether an error passed through a frame of the program."""
    return place_of(error) is not None
