"""Lowering of indexing by tensors to gathers."""

from __future__ import annotations

from typing import Final

import torch

from backends.loops.affine import Affine
from backends.loops.nodes import Gather, Tensor
from backends.loops.operations import DTYPES
from backends.loops.value_ranges import is_inside
from frontends.pytorch.lowering.registry import Declined, Site, lowering
from frontends.pytorch.lowering.values import Value

aten: Final = torch.ops.aten


@lowering(aten.gather.default)
def gather(at: Site, x: Value, axis: int, index: Value, *, sparse_grad: bool = False) -> Value:
    """Lower `gather`: along the other axes, each element keeps its index."""
    if not x.rank or index.dtype != "int64" or x.dtype not in DTYPES:
        raise Declined
    axis %= x.rank
    places = tuple([index.tensor if each == axis else at.build.axis(each) for each in range(x.rank)])
    if is_inside(at.build, index.tensor, x.sizes[axis]):
        return x.gather(places, index.sizes)
    inside = (index >= 0) & (index < x.sizes[axis])
    at.require(inside, RuntimeError, f"an index is out of bounds for dimension {axis}")
    return x.gather(places, index.sizes, inside)


@lowering(aten._unsafe_index.Tensor)
def unsafe_index(at: Site, x: Value, indices: list[Value | None]) -> Value:
    """Lower advanced indexing: the broadcast axes of the indices replace the indexed axes.

    The operator's caller guarantees that indices are in bounds; nothing outside is read in any case.
    """
    given = [axis for axis, index in enumerate(indices) if index is not None]
    if not given or given != list(range(given[0], given[-1] + 1)):
        raise Declined
    if any(index is not None and index.dtype not in ("int64", "int32") for index in indices):
        raise Declined
    source = at.memory(at.operation.args[0])
    first, behind = given[0], given[-1] + 1
    count = len(at.sizes) - (x.rank - len(given))
    places: list[Affine | Tensor] = []
    for axis in range(x.rank):
        index = indices[axis] if axis < len(indices) else None
        if index is None:
            places.append(at.build.axis(axis if axis < first else axis - behind + first + count))
        else:
            index = index.cast("int64")
            if not at.is_part:
                # those of a decomposition are never negative
                index = (index < 0).select(index + x.sizes[axis], index).apply("maximum", 0)
            index = index.apply("minimum", x.sizes[axis] - 1)
            sizes = at.sizes[first : first + count]
            broadcast = index.expanded(sizes).unsqueezed(range(count, count + x.rank - behind))
            places.append(broadcast.expanded(at.sizes).tensor)
    return Value(at.build, Gather(at.sizes, x.dtype, source, tuple(places)), at.sizes)
