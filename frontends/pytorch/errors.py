"""What a trace can not do: each error names the user's line and what to do.

    >>> from frontends.pytorch.errors import TraceError
    >>> from shapes.errors import ShapeError
    >>> issubclass(TraceError, ShapeError)
    True
    >>> print(refusal("a size is printed", "print it outside", None))
    a size is printed
      fix:    print it outside
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from frontends.pytorch.places import origin
from shapes.errors import ShapeError

if TYPE_CHECKING:
    from shapes.origin import Origin


class TraceError(ShapeError):
    """The program can not be traced as it is."""


class EscapedTensor(TraceError):
    """A tensor of a trace was used after the trace."""


class GraphBreak(TraceError):
    """What cannot be part of a graph: a branch on data, a value that leaves torch."""


class Unsupported(TraceError):
    """An input or an operator that the frontend does not take."""


class WrongStatement(TraceError):
    """Marks or stated relations that contradict each other, or the sizes at hand."""


def refusal(what: str, fix: str, place: Origin | None) -> str:
    """The text of an error: what, where, and what to do."""
    lines = [what]
    if place is not None:
        lines.append(f"  at:     `{place.source_line}`  ({place})")
    return "\n".join([*lines, f"  fix:    {fix}"])


def unsupported(what: str, fix: str) -> NoReturn:
    """Say what is not supported, with the line of the program and what to do.

    Raises:
        Unsupported: always.
    """
    raise Unsupported(refusal(what, fix, origin()))
