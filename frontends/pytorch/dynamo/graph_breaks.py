"""Graph breaks and frames that Dynamo leaves to Python: where, and why.

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

With `suppress_errors` Dynamo runs a frame as Python on which it fails, and logs the error with its own stack. Here such
errors of this thread are noted instead, each as one line. A frame without operators on tensors has nothing to compile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch._dynamo.eval_frame import dynamo_tls, get_skip_reasons, reset_skip_reasons
from torch._dynamo.exc import Unsupported
from torch._dynamo.utils import counters

from frontends.pytorch.shape_env.python_breaks import described
from frontends.pytorch.source_location import innermost
from shapes.origin import Origin

CAUSES: Final = {"generic_jump": "branch", "Unsupported Tensor.item()": "item()"}
"""Prefixes of Dynamo's reasons, with our names."""
BUCKETS: Final = "DDPOptimizer"
"""The beginning of torch's reason where it splits a graph, to exchange gradients while it computes others."""
SUPPRESSED: Final = logging.getLogger("torch._dynamo.convert_frame")
BREAKS: Final = "graph_break"
"""Torch's counter of graph breaks, by reason."""
NO_OPERATORS: Final = "no operators on tensors"
EMPTY: Final = ("No ops traced", "no tensor-related objects found")
"""Words in torch's reasons for skipping such a frame."""


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


def in_short(text: str) -> str:
    """The first line of a text."""
    return text.strip().partition("\n")[0]
