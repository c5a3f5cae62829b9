"""Coverage: whether the variants of a program accept all sizes of a box.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.shape[0] > 4 else x, dynamic=True)
    >>> out = f(torch.randn(8))
    >>> type(f.coverage({"x.shape[0]": (5, 64)})).__name__
    'Always'
    >>> f.coverage({"x.shape[0]": (4, 64)}).false_at
    {'x.shape[0]': 4}
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from frontends.pytorch.errors import ConstraintViolation
from shapes.guards.arguments import Source
from shapes.guards.dispatch import Dispatch

if TYPE_CHECKING:
    from frontends.pytorch.variants.compiled_graph import CompiledGraph
    from shapes.guards.coverage import Ranges
    from solver.decide.verdict import Verdict


def coverage(graphs: Sequence[CompiledGraph], ranges: Ranges | None) -> Verdict:
    """Decide if some variant accepts all sizes in the ranges, for inputs of the kinds of the last traced call.

    Raises:
        ConstraintViolation: there is no variant.
    """
    found = [(arguments, dispatch) for graph in graphs for arguments, dispatch in graph.dispatches if dispatch.entries]
    if not found:
        raise ConstraintViolation("coverage() of a function that was never called: its arguments are unknown")
    last, latest = found[-1]
    alike: Dispatch[Any] = Dispatch(last.names, prologue=last.prologue())
    for arguments, dispatch in found:
        if (arguments.key, arguments.names) == (last.key, last.names):
            for entry in dispatch.entries:
                tests: dict[Source, Hashable] = dict(entry.tests.items())
                alike.add(entry.check, entry.value, tests=tests)
    return alike.coverage(ranges, tests=dict(latest.entries[-1].tests.items()))
