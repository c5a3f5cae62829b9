"""Graph breaks: where Dynamo ended a graph, and why.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile
    ... def f(x):
    ...     y = x.relu()
    ...     print(end="")
    ...     return y * 2
    >>> out = f(torch.ones(3))
    >>> [(each.cause, each.operators_before) for each in f.breaks]
    [('print', 1)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import torch

from frontends.pytorch.source_location import innermost
from shapes.origin import Origin

CAUSES: Final = {"generic_jump": "branch", "Unsupported Tensor.item()": "item()"}
"""Prefixes of Dynamo's reasons, with our names."""
BUCKETS: Final = "DDPOptimizer"
"""The beginning of torch's reason where it splits a graph, to exchange gradients while it computes others."""


@dataclass(frozen=True, slots=True)
class Break:
    """A graph break: its reason, its line, and the number of operators in the graph before it."""

    cause: str
    place: Origin | None
    operators_before: int

    def __str__(self) -> str:
        where = "" if self.place is None else f"    ({self.place})"
        return f"graph break: {self.cause}{where}"


def is_bucket(module: torch.fx.GraphModule) -> bool:
    """Return True for a part of a graph of Dynamo's, which torch calls with the sizes and tensors that it has split."""
    reason: Any = getattr(module, "compile_subgraph_reason", None)
    return reason is not None and str(reason.reason).startswith(BUCKETS)


def break_after(module: torch.fx.GraphModule) -> tuple[str, Origin | None] | None:
    """The reason and location of a graph break; None if the program returns."""
    reason: Any = getattr(module, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break or is_bucket(module):
        return None
    text = str(reason.reason)
    cause = next((name for begin, name in CAUSES.items() if text.startswith(begin)), "")
    if not cause:
        cause = "print" if "builtin operator `print`" in text else text.partition("\n")[0].partition("(")[0].strip()
    return cause, innermost(reason.user_stack)


def breaks_after(graphs: Iterable[Any]) -> list[Break]:
    """The distinct graph breaks after these graphs."""
    ended: list[tuple[Any, int]] = [(graph.ended, graph.operators) for graph in graphs if graph.ended is not None]
    return list({str(end): Break(end[0], end[1], operators) for end, operators in ended}.values())
