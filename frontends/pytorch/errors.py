"""What a trace can not do: each error names the user's line and what to do.

    >>> from frontends.pytorch.errors import TraceError
    >>> from shapes.errors import ShapeError
    >>> issubclass(TraceError, ShapeError)
    True
"""

from __future__ import annotations

from shapes.errors import ShapeError


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
