"""Decompositions of matrix products, norms and covariance.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.linalg.matrix_norm(x, 1), (torch.ones(4, 2, 3),))
    >>> variant.guards, tuple(variant.graph(torch.ones(3, 5, 1))[0].shape)
    ((), (3,))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeAlias

import torch
import torch._refs.linalg

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

    @cache
    def cheapest(first: int, last: int) -> tuple[int, int]:
        """The multiplications of a part of the chain, and where it is split for them."""
        around = sizes[first] * sizes[last + 1]
        costs = [
            (cheapest(first, middle)[0] + cheapest(middle + 1, last)[0] + around * sizes[middle + 1], middle)
            for middle in range(first, last)
        ]
        return min(costs, default=(0, first))

    def chain(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        _, middle = cheapest(first, last)
        return torch.mm(chain(first, middle), chain(middle + 1, last))

    product = chain(0, len(matrices) - 1)
    if vector_first:
        product = product.squeeze(0)
    return product.squeeze(-1) if vector_last else product


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


composite(aten.linalg_matrix_norm.default)(torch._refs.linalg.matrix_norm)


# ---------------------------------------------------------------------- covariance


@composite(aten.cov.default)
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance of the rows; invalid values of weights are found when the graph runs."""
    torch._check(self.dim() <= 2, lambda: f"cov(): expected at most 2 axes, not {self.dim()}")
    torch._check(self.dtype is not torch.bool, lambda: "cov(): bool is not supported")
    rows = self if self.dim() == 2 else self.reshape(1, -1)
    count = rows.shape[1]
    weights: Tensor | None = None
    for name, each in (("fweights", fweights), ("aweights", aweights)):
        if each is None:
            continue
        torch._check(each.dim() <= 1, lambda name=name: f"cov(): {name}: expected at most 1 axis")
        torch._check(each.numel() == count, lambda name=name: f"cov(): {name}: not one for each observation")
        aten._assert_async.msg((each >= 0).all(), f"cov(): {name} cannot be negative")
        weights = each if weights is None else weights * each
    if weights is None:
        factor = torch.sym_max(count - correction, 0)
        mean = rows.sum(1) / count
        weighted = rows - mean.unsqueeze(1)
        centred = weighted
    else:
        total = weights.sum()
        aten._assert_async.msg(total != 0, "cov(): weights sum to zero, can't be normalized")
        mean = (rows * weights).sum(1) / total
        less: Tensor | int = correction
        if aweights is not None and correction != 0:
            less = correction * (weights * aweights).sum() / total
        factor = (total - less).clamp(min=0)
        centred = rows - mean.unsqueeze(1)
        weighted = centred * weights
    return torch.true_divide(torch.mm(centred, weighted.t().conj()), factor).squeeze()
