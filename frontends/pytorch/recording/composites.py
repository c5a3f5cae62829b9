"""Composite operators that torch's C++ takes apart by sizes as plain numbers, taken apart here by symbolic ones.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(torch.kron, (torch.ones(2, 3), torch.ones(4, 5)))
    >>> variant.guards
    ()
    >>> variant.graph(torch.ones(3, 1), torch.ones(2, 2))[0].shape
    torch.Size([6, 2])

Each gives what torch's gives, by operators of a graph. They stand in for torch's while a trace runs (`installed`):
the Python dispatcher asks an operator's `py_kernels` first, so they are found wherever a composite is called, by the
program or by another composite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Final

import torch
from torch._C import DispatchKey

from frontends.pytorch.operators.layouts import is_packed
from frontends.pytorch.symbolic.tensor import Traced

aten: Final = torch.ops.aten
Tensor = torch.Tensor

COMPOSITES: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}
KEYS: Final = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)


def installed() -> AbstractContextManager[None]:
    """The operators taken apart here, while this lasts."""
    return standing_in(COMPOSITES)


@contextmanager
def standing_in(functions: Mapping[torch._ops.OpOverload, Callable[..., object]]) -> Iterator[None]:
    """Functions in the place of operators, while this lasts."""
    before: list[tuple[torch._ops.OpOverload, DispatchKey]] = []
    for operator, function in functions.items():
        for key in KEYS:
            if key not in operator.py_kernels:
                operator.py_kernels[key] = function
                before.append((operator, key))
        operator._dispatch_cache.clear()
    try:
        yield
    finally:
        for operator, key in before:
            del operator.py_kernels[key]
            operator._dispatch_cache.clear()


def composite(*operators: torch._ops.OpOverload) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function as what these operators are made of."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        for operator in operators:
            COMPOSITES[operator] = function
        return function

    return register


# ---------------------------------------------------------------------- products


@composite(aten.kron.default)
def kron(self: Tensor, other: Tensor) -> Tensor:
    """Each element of the one times the whole of the other."""
    rank = max(self.dim(), other.dim())
    first = [1] * (rank - self.dim()) + list(self.shape)
    second = [1] * (rank - other.dim()) + list(other.shape)
    spread = self.reshape([size for each in first for size in (each, 1)])
    product = spread * other.reshape([size for each in second for size in (1, each)])
    return product.reshape([one * two for one, two in zip(first, second)])


@composite(aten.linalg_multi_dot.default)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """A chain of products, in the order that is cheapest at the sizes at hand: any order gives the same."""
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
    """Where to split each stretch of a chain of matrices, by the number of multiplications."""
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
    """The size this time, for a choice that changes no result; 1 where only the run tells."""
    if type(size) is int:
        return size
    hint = size.node.hint
    return 1 if hint is None else int(hint)


@composite(aten.linalg_matrix_power.default)
def matrix_power(self: Tensor, n: int) -> Tensor:
    """By squares."""
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
    """The largest or smallest sum of a column or a row; torch's is the rest."""
    axes = [axis % self.dim() for axis in dim] if self.dim() else []
    if abs(ord) not in (1, math.inf) or len(set(axes)) != 2:
        normal = aten.linalg_matrix_norm.default
        return normal._op_dk(DispatchKey.CompositeImplicitAutograd, self, ord, dim, keepdim, dtype=dtype)
    along, across = axes if abs(ord) == 1 else reversed(axes)
    sums = torch.linalg.vector_norm(self, 1.0, [along], keepdim=True, dtype=dtype)
    found = sums.amax([across], keepdim=True) if ord > 0 else sums.amin([across], keepdim=True)
    return found if keepdim else found.squeeze(axes)


# ---------------------------------------------------------------------- choosing elements


@composite(aten.combinations.default)
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to pick so many elements, in the order of their places."""
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
    return self[mask.nonzero()]


@composite(aten.take_along_dim.default)
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` after all other axes were broadcast."""
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
    """The gradient where it came from, before what was broadcast is added up."""
    sizes = torch.broadcast_shapes(input.shape, mask.shape)
    return torch.zeros_like(input.expand(sizes)).masked_scatter(mask, grad)


@composite(aten.block_diag.default)
def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """One block after another, with zeros beside it."""
    for tensor in tensors:
        torch._check(tensor.dim() <= 2, lambda: "torch.block_diag: Input tensors must have 2 or fewer dimensions")
    blocks = [tensor.reshape((1,) * (2 - tensor.dim()) + tuple(tensor.shape)) for tensor in tensors]
    if not blocks:
        return torch.empty(1, 0)
    widths = [block.shape[1] for block in blocks]
    rows = []
    for place, block in enumerate(blocks):
        before = block.new_zeros((block.shape[0], sum(widths[:place])))
        after = block.new_zeros((block.shape[0], sum(widths[place + 1 :])))
        rows.append(torch.cat([before, block, after], 1))
    return torch.cat(rows)


# ---------------------------------------------------------------------- statistics


@composite(aten.cov.default)
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """How the rows vary together; what is wrong with the values of weights is found when the graph runs."""
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
        total: object = count
        factor: object = torch.sym_max(count - correction, 0)
        mean = rows.sum(1) / total
        weighted = rows - mean.unsqueeze(1)
        centred = weighted
    else:
        total = weights.sum()
        aten._assert_async.msg(total != 0, "cov(): weights sum to zero, can't be normalized")
        mean = (rows * weights).sum(1) / total
        less = correction
        if aweights is not None and correction != 0:
            less = correction * (weights * aweights).sum() / total
        factor = (total - less).clamp(min=0)
        centred = rows - mean.unsqueeze(1)
        weighted = centred * weights
    return torch.true_divide(torch.mm(centred, weighted.t().conj()), factor).squeeze()


@composite(aten.corrcoef.default)
def corrcoef(self: Tensor) -> Tensor:
    """The covariance in units of the deviations."""
    torch._check(self.dim() <= 2, lambda: f"corrcoef(): expected at most 2 axes, not {self.dim()}")
    found = torch.cov(self)
    if found.dim() == 0:
        return found / found
    diagonal = found.diag()
    deviation = torch.sqrt(diagonal.real if diagonal.is_complex() else diagonal)
    found = found / deviation.view(-1, 1) / deviation.view(1, -1)
    if found.is_complex():
        return torch.complex(found.real.clip(-1, 1), found.imag.clip(-1, 1))
    return found.clip(-1, 1)


# ---------------------------------------------------------------------- differences


@composite(aten.gradient.scalarint, aten.gradient.scalararray, aten.gradient.array)
def gradient(
    self: Tensor, *, spacing: float | None = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> list[Tensor]:
    """Differences of neighbours, one tensor for each axis; the same distance everywhere."""
    return [_evenly(self, axis, 1 if spacing is None else spacing, edge_order) for axis in _axes(self, dim)]


@composite(aten.gradient.scalarrayint, aten.gradient.scalarrayarray)
def gradient_by_axis(
    self: Tensor, *, spacing: Sequence[float], dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> list[Tensor]:
    """A distance for each axis."""
    axes = _axes(self, dim)
    torch._check(len(axes) == len(spacing), lambda: "torch.gradient expected spacing to have an entry for each axis")
    return [_evenly(self, axis, distance, edge_order) for axis, distance in zip(axes, spacing)]


@composite(aten.gradient.tensorarrayint, aten.gradient.tensorarray)
def gradient_by_coordinates(
    self: Tensor, *, spacing: Sequence[Tensor], dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> list[Tensor]:
    """A coordinate for each place on each axis."""
    axes = _axes(self, dim)
    torch._check(len(axes) == len(spacing), lambda: "torch.gradient expected spacing to have an entry for each axis")
    return [_unevenly(self, axis, places, edge_order) for axis, places in zip(axes, spacing)]


def _axes(self: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    if dim is None:
        return list(range(self.dim()))
    return [axis % self.dim() for axis in ([dim] if isinstance(dim, int) else dim)]


def _checked(self: Tensor, axis: int, edge_order: int) -> None:
    torch._check(edge_order in (1, 2), lambda: "torch.gradient only supports edge_order=1 and edge_order=2.")
    torch._check(
        self.shape[axis] >= edge_order + 1,
        lambda: "torch.gradient expected each dimension size to be at least edge_order+1",
    )


def _evenly(self: Tensor, axis: int, distance: float, edge_order: int) -> Tensor:
    _checked(self, axis, edge_order)

    def part(start: int, end: int | None) -> Tensor:
        return aten.slice(self, axis, start, end)

    middle = (part(2, None) - part(0, -2)) / 2.0
    if edge_order == 1:
        first, last = part(1, 2) - part(0, 1), part(-1, None) - part(-2, -1)
    else:
        first = -0.5 * part(2, 3) + 2 * part(1, 2) - 1.5 * part(0, 1)
        last = 0.5 * part(-3, -2) - 2 * part(-2, -1) + 1.5 * part(-1, None)
    return torch.cat([first, middle, last], axis) / distance


def _unevenly(self: Tensor, axis: int, places: Tensor, edge_order: int) -> Tensor:
    _checked(self, axis, edge_order)
    torch._check(places.dim() == 1, lambda: "torch.gradient expected each element of spacing to have one dimension")
    torch._check(
        places.shape[0] == self.shape[axis],
        lambda: "torch.gradient expected each spacing tensor to have as many elements as its axis",
    )

    def part(start: int, end: int | None) -> Tensor:
        return aten.slice(self, axis, start, end)

    steps = places.diff()

    def step(start: int, end: int | None) -> Tensor:
        along = [slice(None) if each == axis else None for each in range(self.dim())]
        return aten.slice(steps, 0, start, end)[tuple(along)]

    before, after = step(0, -1), step(1, None)
    both = before + after
    middle = (
        part(0, -2) * (-after / (before * both))
        + part(1, -1) * ((after - before) / (before * after))
        + part(2, None) * (before / (after * both))
    )
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / step(0, 1), (part(-1, None) - part(-2, -1)) / step(-1, None)
    else:
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
    return torch.cat([first, middle, last], axis)


# ---------------------------------------------------------------------- windows


@composite(aten.max_pool1d.default)
def max_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    """A pool over two axes, of which one is 1 long."""
    two = [(1, *stride) if stride else (1, *kernel_size), (0, *padding), (1, *dilation)]
    return torch.ops.aten.max_pool2d_with_indices(self.unsqueeze(-2), (1, *kernel_size), *two, ceil_mode)[0].squeeze(-2)


def adaptive_average(operator: torch._ops.OpOverload, whole: torch._ops.OpOverload, axes: int) -> None:
    """A pool of which torch's is a mean where there is one window; of what is packed, no size says how it lies."""

    def pool(self: Tensor, output_size: Sequence[int | torch.SymInt]) -> object:
        if any(type(size) is not int for size in output_size):
            return whole(self, output_size)
        if all(size == 1 for size in output_size) and type(self) is Traced and is_packed(self.metadata):
            return self.mean(list(range(-axes, 0)), keepdim=True)
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, output_size)

    composite(operator)(pool)


adaptive_average(aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default, 2)
adaptive_average(aten.adaptive_avg_pool3d.default, aten._adaptive_avg_pool3d.default, 3)


# ---------------------------------------------------------------------- transforms


def resized(self: Tensor, sizes: Sequence[int | torch.SymInt], dims: Sequence[int]) -> Tensor:
    """A tensor cut off or filled with zeros along some axes: one of both changes nothing, and no size decides which."""
    pads: list[int | torch.SymInt] = [0] * (2 * self.dim())
    for size, dim in zip(sizes, dims):
        axis = dim % self.dim()
        if type(size) is int and size == -1:
            continue
        self = aten.slice(self, axis, 0, size)
        pads[2 * (self.dim() - 1 - axis) + 1] = size - self.shape[axis]
    return self if all(type(pad) is int and pad == 0 for pad in pads) else aten.constant_pad_nd(self, pads)


def transform(operator: torch._ops.OpOverload, *, of_many: bool, halved: bool) -> None:
    """A transform whose argument is resized first, if it is; what torch's does is the rest.

    `halved`: the size that is stated is that of the outcome, and the last axis of the argument is half as long.
    """
    (default,) = [argument.default_value for argument in operator._schema.arguments if argument.name == "dim"]

    def needed(size: int | torch.SymInt, last: bool) -> int | torch.SymInt:
        return size if not (halved and last) or (type(size) is int and size == -1) else size // 2 + 1

    def one(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> object:
        if n is not None and self.dim():
            self = resized(self, [needed(n, True)], [dim])
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, n, dim, norm)

    def many(
        self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = default, norm: str | None = None
    ) -> object:
        if s is not None and len(s) <= self.dim() and (dim is None or len(dim) == len(s)):
            dims = range(self.dim() - len(s), self.dim()) if dim is None else dim
            sizes = [needed(size, place == len(s) - 1) for place, size in enumerate(s)]
            if all(type(size) is not int or size == -1 or size >= 1 for size in sizes):
                self = resized(self, sizes, dims)
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, s, dim, norm)

    composite(operator)(many if of_many else one)


for word in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft"):
    for ending in ("", "2", "n"):
        transform(getattr(aten, f"fft_{word}{ending}").default, of_many=bool(ending), halved=word in ("irfft", "hfft"))
