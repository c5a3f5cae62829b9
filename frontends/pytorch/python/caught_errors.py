"""Errors of a traced program caused by a size or by data: explained, and detected where the program catches them.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Final

import torch
import torch.export

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.source_location import STANDARD, is_users, place_of
from shapes.errors import UndecidedGuard
from shapes.origin import Origin

ASKING: Final = frozenset(
    ("exc_info", "format_exc", "print_exc", "format_exception", "exception", "last_value", "__context__", "__exit__")
)
"""Names by which a program reads an error without naming it."""


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


NUMBERS: Final = ("SymInt", "SymFloat", "SymBool")
TEXT: Final = "catch it without a name (`except RuntimeError:`)"
NUMBER: Final = "`int(n)` outside of the traced function, or a function that keeps it symbolic (torch.sym_max, math)"


def was_in_program(error: BaseException) -> bool:
    """Whether an error passed through a frame of the program."""
    return place_of(error) is not None


def who_asks(error: BaseException) -> Origin | None:
    """The program's line through which an error passed, in a function that may read its message."""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if is_users(code.co_filename) and names_errors(code):
            return Origin.of_instruction(code, step.tb_lasti)
        step = step.tb_next
    return None


@functools.lru_cache(maxsize=1024)
def names_errors(code: CodeType) -> bool:
    """Whether a function names an error that it catches, or asks for the current one."""
    if not ASKING.isdisjoint(code.co_names):
        return True
    caught = False
    for step in dis.get_instructions(code):
        if caught and step.opname.startswith("STORE_"):
            return True
        caught = step.opname == "CHECK_EXC_MATCH" or (caught and step.opname.startswith(("POP_JUMP", "NOT_TAKEN")))
    return False
