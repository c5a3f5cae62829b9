"""Decompositions of selection by index and of block-diagonal assembly.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(torch.block_diag, (torch.ones(2, 3),))
    >>> variant.guards, tuple(variant.graph(torch.ones(4, 5))[0].shape)
    ((), (4, 5))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import torch

from frontends.pytorch.decompositions.registry import composite

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


@composite(aten.combinations.default)
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements, in lexicographic order of their indices."""
    torch._check(self.dim() == 1, lambda: f"combinations: expected 1 axis, not {self.dim()}")
    torch._check(r >= 0, lambda: f"combinations: expected a number that is not negative, not {r}")
    if r == 0:
        return self.new_empty((0,))
    length = self.shape[0]
    places = torch.arange(length, device=self.device)
    grids = [places.reshape([-1 if axis == place else 1 for axis in range(r)]) for place in range(r)]
    mask = torch.ones([length] * r, dtype=torch.bool, device=self.device)
    for before, after in pairwise(grids):
        mask = mask & (before <= after if with_replacement else before < after)
    return self[mask.nonzero().contiguous()]


@composite(aten.take_along_dim.default)
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with all other axes broadcast."""
    torch._check(indices.dtype == torch.int64, lambda: f"take_along_dim: expected int64, not {indices.dtype}")
    if dim is None:
        return self.reshape(-1).gather(0, indices.reshape(-1))
    rank = self.dim()
    torch._check(rank == indices.dim(), lambda: f"take_along_dim: {rank} axes and {indices.dim()} axes")
    axis = dim % rank if rank else 0
    if rank:
        indices = indices.remainder(self.shape[axis])
    shapes = []
    for tensor, other in ((self, indices), (indices, self)):
        sizes = [*other.shape[:axis], tensor.shape[axis], *other.shape[axis + 1 :]]
        shapes.append(torch.broadcast_shapes(tensor.shape, sizes))
    return self.broadcast_to(shapes[0]).gather(axis, indices.broadcast_to(shapes[1]))


@composite(aten.masked_select_backward.default)
def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    """Scatter the gradient to the selected elements, before broadcast axes are summed."""
    sizes = torch.broadcast_shapes(input.shape, mask.shape)
    # written in place, since a new tensor would not have the input's layout
    return torch.zeros_like(input.expand(sizes)).masked_scatter_(mask, grad)


@composite(aten.block_diag.default)
def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """Blocks on the diagonal, zeros elsewhere."""
    return torch._refs._block_diag_iterable(tensors) if tensors else torch.empty(1, 0)
