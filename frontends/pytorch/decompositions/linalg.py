"""Decompositions of matrix products and norms.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.linalg.matrix_norm(x, 1), (torch.ones(4, 2, 3),))
    >>> variant.guards, tuple(variant.graph(torch.ones(3, 5, 1))[0].shape)
    ((), (3,))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


@composite(aten.kron.default)
def kron(self: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: each element of the first times all of the second."""
    rank = max(self.dim(), other.dim())
    first = [1] * (rank - self.dim()) + list(self.shape)
    second = [1] * (rank - other.dim()) + list(other.shape)
    spread = self.reshape([size for each in first for size in (each, 1)])
    product = spread * other.reshape([size for each in second for size in (1, each)])
    return product.reshape([one * two for one, two in zip(first, second)])


@composite(aten.linalg_multi_dot.default)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """A matrix chain product in the cheapest order for the hints: the order does not change the result."""
    torch._check(len(tensors) >= 2, lambda: "multi_dot(): expected at least 2 tensors")
    matrices = list(tensors)
    vector_first, vector_last = matrices[0].dim() == 1, matrices[-1].dim() == 1
    if vector_first:
        matrices[0] = matrices[0].unsqueeze(0)
    if vector_last:
        matrices[-1] = matrices[-1].unsqueeze(1)
    for matrix in matrices:
        torch._check(matrix.dim() == 2, lambda: "multi_dot(): the tensors between the first and the last have 2 axes")
    sizes = [hint_of(matrix.shape[0]) for matrix in matrices] + [hint_of(matrices[-1].shape[1])]
    product = _chain(matrices, _order(sizes), 0, len(matrices) - 1)
    if vector_first:
        product = product.squeeze(0)
    return product.squeeze(-1) if vector_last else product


def _order(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Matrix chain ordering by dynamic programming: where to split each subchain, by the number of multiplications."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(place, place): 0 for place in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs = [
                (
                    cost[first, middle] + cost[middle + 1, last] + sizes[first] * sizes[middle + 1] * sizes[last + 1],
                    middle,
                )
                for middle in range(first, last)
            ]
            cost[first, last], split[first, last] = min(costs)
    return split


def _chain(matrices: Sequence[Tensor], split: dict[tuple[int, int], int], first: int, last: int) -> Tensor:
    if first == last:
        return matrices[first]
    middle = split[first, last]
    return torch.mm(_chain(matrices, split, first, middle), _chain(matrices, split, middle + 1, last))


def hint_of(size: int | torch.SymInt) -> int:
    """The hint of a size, for a choice that does not change results; 1 for an unbacked one."""
    if not isinstance(size, torch.SymInt):
        return size
    hint = size.node.hint
    return 1 if hint is None else int(hint)


@composite(aten.linalg_matrix_power.default)
def matrix_power(self: Tensor, n: int) -> Tensor:
    """Exponentiation by squaring."""
    torch._check(self.dim() >= 2, lambda: "linalg.matrix_power: The input tensor must have at least 2 dimensions.")
    rows, columns = self.shape[-2:]
    torch._check(rows == columns, lambda: f"linalg.matrix_power: expected square matrices, not {rows} by {columns}")
    if n == 0:
        return self.clone().zero_() + torch.eye(rows, dtype=self.dtype, device=self.device)
    square, left = (torch.linalg.inv(self) if n < 0 else self), abs(n)
    if left == 1:
        return square if n < 0 else self.clone()
    if left == 3:
        return torch.matmul(torch.matmul(square, square), square)
    product: Tensor | None = None
    while left:
        if left % 2:
            product = square if product is None else torch.matmul(product, square)
        left //= 2
        if left:
            square = torch.matmul(square, square)
    assert product is not None
    return product


@composite(aten.linalg_matrix_norm.default)
def matrix_norm(
    self: Tensor, ord: float, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> object:
    """The largest or smallest sum of a column or a row; other norms are torch's."""
    axes = [axis % self.dim() for axis in dim] if self.dim() else []
    if abs(ord) not in (1, math.inf) or len(set(axes)) != 2:
        normal = aten.linalg_matrix_norm.default
        return normal._op_dk(DispatchKey.CompositeImplicitAutograd, self, ord, dim, keepdim, dtype=dtype)
    along, across = axes if abs(ord) == 1 else reversed(axes)
    sums = torch.linalg.vector_norm(self, 1.0, [along], keepdim=True, dtype=dtype)
    found = sums.amax([across], keepdim=True) if ord > 0 else sums.amin([across], keepdim=True)
    return found if keepdim else found.squeeze(axes)
