"""Decompositions of composite operators: matrix products, norms, covariance, selection, finite differences.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: torch.linalg.matrix_norm(x, 1), (torch.ones(4, 2, 3),))
    >>> variant.guards, tuple(variant.graph(torch.ones(3, 5, 1))[0].shape)
    ((), (3,))
    >>> variant = trace(lambda x: torch.gradient(x, dim=0)[0], (torch.ones(4, 3),))
    >>> [str(guard) for guard in variant.guards], tuple(variant.graph(torch.ones(7, 1))[0].shape)
    (['x.shape[0] >= 2'], (7, 1))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Final, TypeAlias

import torch
import torch._refs.linalg
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor
Part: TypeAlias = Callable[[int, int | None], Tensor]
"""A slice of one axis."""


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
    """Torch's, but of the powers 0 and 1 its copies branch on the sizes."""
    torch._check(self.dim() >= 2, lambda: "linalg.matrix_power: The input tensor must have at least 2 dimensions.")
    rows, columns = self.shape[-2:]
    torch._check(rows == columns, lambda: f"linalg.matrix_power: expected square matrices, not {rows} by {columns}")
    if n == 0:
        return self.clone().zero_() + torch.eye(rows, dtype=self.dtype, device=self.device)
    if n == 1:
        return self.clone()
    return aten.linalg_matrix_power.default._op_dk(DispatchKey.CompositeImplicitAutograd, self, n)


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


# ---------------------------------------------------------------------- selection


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


# ---------------------------------------------------------------------- finite differences


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
