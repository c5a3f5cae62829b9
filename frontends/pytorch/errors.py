"""Errors of tracing: each names the user's line and a fix.

    >>> from frontends.pytorch.errors import TraceError
    >>> from shapes.errors import ShapeError
    >>> issubclass(TraceError, ShapeError)
    True
"""

from __future__ import annotations

from typing import NoReturn

from frontends.pytorch.source_location import origin, place_of
from shapes.errors import ConstraintViolation as ConstraintViolation
from shapes.errors import ShapeError
from shapes.errors import refusal as refusal
from shapes.origin import Origin


class TraceError(ShapeError):
    """The program cannot be traced."""


class EscapedTensor(TraceError):
    """A tensor of a trace was used after the trace."""


class GraphBreak(TraceError):
    """A program that is not one graph, where one is asked for (`fullgraph=True`)."""


class Unsupported(TraceError):
    """An input, an operator or an effect that a graph of ours does not have."""


def rejected(what: str, fix: str) -> NoReturn:
    """Raise for an argument that is not accepted, with the program's line and a fix.

    Raises:
        ConstraintViolation: always.
    """
    raise ConstraintViolation(refusal(what, fix, origin())) from None


def unsupported(what: str, fix: str, *lines: Origin | None) -> NoReturn:
    """Raise for something unsupported, with the program's line and a fix; `lines` has the line where it is found after
    the program has ended.

    Raises:
        Unsupported: always.
    """
    raise Unsupported(refusal(what, fix, *(lines or [origin()])))


def reason_of(error: Exception) -> str:
    """The reason of an eager fallback, from the error that ended the trace."""
    if isinstance(error, ShapeError):
        return str(error)
    place = place_of(error)
    where = "" if place is None else f"\n  at:     `{place.source_line}`  ({place})"
    return f"{type(error).__name__}: {error}{where}"


def located(error: TraceError) -> None:
    """Add to an error, if they are missing, the program's line that raised it and a fix."""
    text = str(error)
    if not error.args or text != error.args[0]:
        return
    what, *rest = text.split("\n")
    if not any(line.startswith(("  at: ", "  needed: ")) for line in rest):
        found = place_of(error)
        if found is not None:
            rest.insert(0, f"  at:     `{found.source_line}`  ({found})")
    if not any(line.startswith("  fix: ") for line in rest):
        rest.append("  fix:    do it outside of the function")
    error.args = ("\n".join([what, *rest]), *error.args[1:])
