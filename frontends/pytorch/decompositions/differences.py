"""Finite differences.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.gradient(x, dim=0)[0], (torch.ones(4, 3),))
    >>> [str(guard) for guard in variant.guards], tuple(variant.graph(torch.ones(7, 1))[0].shape)
    (['x.shape[0] >= 2'], (7, 1))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

import torch

from frontends.pytorch.decompositions.registry import composite

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor
Part: TypeAlias = Callable[[int, int | None], Tensor]
"""A slice of one axis."""


@composite(
    aten.gradient.scalarint, aten.gradient.scalararray, aten.gradient.array, aten.gradient.scalarrayint,
    aten.gradient.scalarrayarray, aten.gradient.tensorarrayint, aten.gradient.tensorarray,
)  # fmt: skip
def gradient(
    self: Tensor,
    *,
    spacing: float | Sequence[float] | Sequence[Tensor] | None = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> list[Tensor]:
    """Differences of neighbors, one tensor for each axis.

    The spacing is the same for all, one of each axis, or a coordinate for each index of each axis.
    """
    dims = range(self.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [axis % self.dim() for axis in dims]
    distances = spacing if isinstance(spacing, list | tuple) else [1 if spacing is None else spacing] * len(axes)
    torch._check(
        len(axes) == len(distances), lambda: "torch.gradient expected spacing to have an entry for each axis"
    )
    torch._check(edge_order in (1, 2), lambda: "torch.gradient only supports edge_order=1 and edge_order=2.")
    found = []
    for axis, distance in zip(axes, distances):
        size, part = self.shape[axis], partial(aten.slice, self, axis)
        torch._check(
            size >= edge_order + 1,
            lambda: "torch.gradient expected each dimension size to be at least edge_order+1",
        )
        if not isinstance(distance, torch.Tensor):
            found.append(torch.cat(_evenly(part, edge_order), axis) / distance)
            continue
        torch._check(
            distance.dim() == 1, lambda: "torch.gradient expected each element of spacing to have one dimension"
        )
        torch._check(
            distance.shape[0] == size,
            lambda: "torch.gradient expected each spacing tensor to have as many elements as its axis",
        )
        along = tuple([slice(None) if each == axis else None for each in range(self.dim())])
        found.append(torch.cat(_unevenly(part, partial(aten.slice, distance.diff()[along], axis), edge_order), axis))
    return found


def _evenly(part: Part, edge_order: int) -> list[Tensor]:
    middle = (part(2, None) - part(0, -2)) / 2.0
    if edge_order == 1:
        return [part(1, 2) - part(0, 1), middle, part(-1, None) - part(-2, -1)]
    first = -0.5 * part(2, 3) + 2 * part(1, 2) - 1.5 * part(0, 1)
    return [first, middle, 0.5 * part(-3, -2) - 2 * part(-2, -1) + 1.5 * part(-1, None)]


def _unevenly(part: Part, step: Part, edge_order: int) -> list[Tensor]:
    """The differences; `step` has the distances of neighbors."""
    before, after = step(0, -1), step(1, None)
    both = before + after
    middle = (
        part(0, -2) * (-after / (before * both))
        + part(1, -1) * ((after - before) / (before * after))
        + part(2, None) * (before / (after * both))
    )
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / step(0, 1), (part(-1, None) - part(-2, -1)) / step(-1, None)
        return [first, middle, last]
    one, two = step(0, 1), step(1, 2)
    first = (
        part(0, 1) * (-(2.0 * one + two) / (one * (one + two)))
        + part(1, 2) * ((one + two) / (one * two))
        + part(2, 3) * (-one / (two * (one + two)))
    )
    one, two = step(-2, -1), step(-1, None)
    last = (
        part(-3, -2) * (two / (one * (one + two)))
        + part(-2, -1) * (-(one + two) / (one * two))
        + part(-1, None) * ((2.0 * two + one) / (two * (one + two)))
    )
    return [first, middle, last]
