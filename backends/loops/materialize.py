"""Choose which expressions to materialize: those with several consumers, and those that cannot be inlined.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    >>> build = program.build
    >>> x = program.input("x", "float32", (build.lift(8),), (build.one,))
    >>> shared = build.apply("exp", x)
    >>> for operation in ("neg", "sqrt"):
    ...     program.outputs.append(program.stored(build.apply(operation, shared), (build.one,)))
    >>> shared in tensors_to_materialize([step.value for step in program.steps])
    True

A materialized tensor is computed once, by a kernel of its own at first; fusion then merges kernels, and stores that
nothing else reads are eliminated. So materializing costs nothing where fusion succeeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from backends.loops.affine import is_one
from backends.loops.nodes import (
    CollapseAxes,
    Concat,
    Gather,
    Memory,
    Number,
    Padded,
    Pointwise,
    Reduce,
    Tensor,
    View,
    descend,
)
from backends.loops.operations import OPERATIONS
from backends.loops.ragged import tables_needed


def tensors_to_materialize(values: Sequence[Tensor]) -> set[Tensor]:
    """The tensors below these values to store to memory before their consumers; a value without other consumers is not
    among them."""
    order = list(descend(values))
    found: set[Tensor] = {tensor for tensor in order if isinstance(tensor, Reduce)}
    found.update([tensor.source for tensor in order if isinstance(tensor, CollapseAxes)])
    found.update(
        [each.source for each in order if isinstance(each, Gather | Padded) and not isinstance(each.source, Memory)]
    )
    parents: dict[Tensor, list[Tensor]] = {tensor: [] for tensor in order}
    for tensor in order:
        for source in tensor.sources:
            parents[source].append(tensor)
    work = _work(order)
    readers: dict[Tensor, set[Tensor]] = {}
    tops = set(values)
    for tensor in reversed(order):
        above = {tensor} if tensor in tops else set()
        for parent in parents[tensor]:
            above |= {parent} if parent in found else readers[parent]
        readers[tensor] = above
        if isinstance(tensor, Pointwise) and tensor not in found:
            costs, loads = work[tensor]
            if len(above) > 1 and (costs or loads > 1) or costs and any(map(_broadcasts, parents[tensor])):
                found.add(tensor)
    # tables are needed where an element's row is not that of the loops
    for tensor in {*values, *found}:
        found.update(tables_needed(tensor, found))
    return found


def _work(order: Iterable[Tensor]) -> dict[Tensor, tuple[bool, int]]:
    """For each tensor, True if recomputing an element is costly, and the number of its loads; a load that is broadcast
    along an axis does not count, as it is hoisted out of that loop."""
    found: dict[Tensor, tuple[bool, int]] = {}
    for tensor in order:
        match tensor:
            case Memory(offset=offset):
                found[tensor] = (False, int(not _misses(tensor, offset.axes)))
            case Reduce() | CollapseAxes():
                found[tensor] = (False, 1)
            case Pointwise(operation=operation):
                below = [found[source] for source in tensor.sources]
                costs = OPERATIONS[operation].is_costly or any(costs for costs, _ in below)
                found[tensor] = (costs, sum([loads for _, loads in below]))
            case View() | Gather() | Padded() | Concat():
                below = [found[source] for source in tensor.sources]
                loads = 0 if _broadcasts(tensor) else sum([loads for _, loads in below])
                found[tensor] = (any(costs for costs, _ in below), loads)
            case _:
                found[tensor] = (False, 0)
    return found


def _broadcasts(tensor: Tensor) -> bool:
    """Return True if a view broadcasts its source."""
    if not isinstance(tensor, View) or isinstance(tensor.source, Number):
        return False
    return _misses(tensor, {axis for place in tensor.indices for axis in place.axes})


def _misses(tensor: Tensor, axes: Collection[int]) -> bool:
    """Return True if a tensor is broadcast along an axis that is not one of these."""
    return any(axis not in axes for axis, size in enumerate(tensor.sizes) if not is_one(size))
