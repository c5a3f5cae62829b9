"""Meta functions that torch lacks, or has in C++ for plain sizes only.

>>> import torch
>>> from frontends.pytorch import trace
>>> variant = trace(lambda x: torch.histogram(x, 4), (torch.ones(3),))
>>> [tuple(value.shape) for value in variant.graph(torch.ones(5))]
[(4,), (5,)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.operator_names.aten_operators import aten as vocabulary
from frontends.pytorch.meta_rules.registry import Ruled, by_columns, kind_rule, packed, ruled, sizes_of
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace, Traced
from shapes.rules.broadcasting import broadcast
from shapes.symbolic.choices import Int, sym_max

aten: Final = torch.ops.aten
REAL: Final = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def kinds(
    recorder: Trace, found: Sequence[Sequence[Int]], dtypes: Sequence[torch.dtype], device: torch.device
) -> object:
    """New tensors of these sizes."""
    return tuple([packed(recorder, shape, dtype, device) for shape, dtype in zip(found, dtypes)])


# ---------------------------------------------------------------------- histograms


@kind_rule(aten.histogram.bin_ct, aten.histogram.bins_tensor)
def histogram(recorder: Trace, self: torch.Tensor, bins: torch.Tensor | int = 100, **options: object) -> object:
    """Counts, and the edges between them."""
    found = ruled(recorder, aten.histogram.bin_ct, self, bins, **options)
    return kinds(recorder, found, (self.dtype, self.dtype), self.device)


@kind_rule(aten._histogramdd_bin_edges.default)
def histogram_edges(recorder: Trace, self: torch.Tensor, bins: Sequence[int], **options: object) -> object:
    """The edges along each axis."""
    return [packed(recorder, (number + 1,), self.dtype, self.device) for number in bins]


@kind_rule(aten._histogramdd_from_bin_cts.default)
def histogram_counts(recorder: Trace, self: torch.Tensor, bins: Sequence[int], **options: object) -> object:
    """A count for each bin of each axis."""
    return packed(recorder, tuple(bins), self.dtype, self.device)


@kind_rule(aten._histogramdd_from_bin_tensors.default)
def histogram_between(recorder: Trace, self: torch.Tensor, bins: Sequence[torch.Tensor], **options: object) -> object:
    """A count between each two edges."""
    edges = [sizes_of(each) for each in bins]
    return packed(recorder, tuple([each[0] - 1 for each in edges]), self.dtype, self.device)


# ---------------------------------------------------------------------- linear algebra


@kind_rule(aten.geqrf.default)
def geqrf(recorder: Trace, self: torch.Tensor) -> object:
    """The matrix, and a factor for each column."""
    whole, factors = ruled(recorder, aten.geqrf.default, self)
    first = by_columns(recorder, whole, self.dtype, self.device, whole[-2])
    return first, packed(recorder, factors, self.dtype, self.device)


@kind_rule(aten.linalg_lstsq.default)
def least_squares(
    recorder: Trace, self: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None
) -> object:
    """The solution, residuals, ranks and singular values."""
    found: Ruled = vocabulary["linalg.lstsq"](recorder.env, sizes_of(self), sizes_of(b), rcond, driver=driver)
    solution, residuals, rank, values = found
    real = REAL.get(self.dtype, self.dtype)
    whole: Metadata
    if self.dim() - b.dim() == 1:
        whole = packed(recorder, solution, self.dtype, self.device)
    else:
        rows, columns = sizes_of(self)[-2:]
        whole = by_columns(recorder, solution, self.dtype, self.device, sym_max(rows, columns))
    return (
        whole,
        packed(recorder, residuals, real, self.device),
        packed(recorder, rank, torch.int64, self.device),
        packed(recorder, values, real, self.device),
    )


@kind_rule(aten.linalg_solve_triangular.default)
def solve_triangular(recorder: Trace, self: torch.Tensor, B: torch.Tensor, **options: bool) -> object:
    """The metadata of the right-hand side."""
    shape: Ruled = vocabulary["linalg.solve_triangular"](recorder.env, sizes_of(self), sizes_of(B), **options)
    return by_columns(recorder, shape, self.dtype, self.device, shape[-2])


@kind_rule(aten.linalg_pinv.atol_rtol_tensor)
def pseudo_inverse(recorder: Trace, self: torch.Tensor, **options: object) -> object:
    """The transposed sizes; computed by a product, so the result is contiguous."""
    found: Ruled = vocabulary["linalg.pinv"](recorder.env, sizes_of(self))
    return packed(recorder, found, self.dtype, self.device)


# ---------------------------------------------------------------------- losses


@kind_rule(aten._ctc_loss.default)
def ctc_loss(
    recorder: Trace, log_probs: torch.Tensor, targets: object, input_lengths: Sequence[int],
    target_lengths: Sequence[int], *options: object,
) -> object:  # fmt: skip
    """A loss for each sequence, and the likelihoods that its gradient needs."""
    env = recorder.env
    steps, batch, _ = sizes_of(log_probs)
    for lengths in (input_lengths, target_lengths):
        env.require(batch == len(lengths), "ctc_loss: expected one length for each of the batch")
    for length in input_lengths:
        env.require(steps >= length, "ctc_loss: a length is larger than the input")
    longest = 2 * max(target_lengths, default=0) + 1
    return kinds(recorder, ((batch,), (batch, steps, longest)), (log_probs.dtype,) * 2, log_probs.device)


@kind_rule(aten._ctc_loss.Tensor, once=True)
def ctc_loss_by_tensors(recorder: Trace, log_probs: torch.Tensor, *rest: object) -> object:
    """The same; the longest target's length is data-dependent."""
    steps, batch, _ = sizes_of(log_probs)
    longest = recorder.env.unbacked(lo=1)
    return kinds(recorder, ((batch,), (batch, steps, longest)), (log_probs.dtype,) * 2, log_probs.device)


# ---------------------------------------------------------------------- cuDNN


@kind_rule(aten.cudnn_grid_sampler.default)
def cudnn_grid_sampler(recorder: Trace, self: torch.Tensor, grid: torch.Tensor) -> object:
    """An image sampled at the points of a grid, contiguous."""
    images, places = sizes_of(self), sizes_of(grid)
    return packed(recorder, (*images[:2], *places[1:3]), self.dtype, self.device)


@kind_rule(aten.cudnn_grid_sampler_backward.default)
def cudnn_grid_sampler_backward(
    recorder: Trace, self: torch.Tensor, grid: torch.Tensor, grad_output: torch.Tensor
) -> object:
    """The gradients of both, contiguous."""
    found = (sizes_of(self), sizes_of(grid))
    return kinds(recorder, found, (self.dtype, grid.dtype), self.device)


# ---------------------------------------------------------------------- windows


@kind_rule(aten.adaptive_max_pool3d.default)
def adaptive_max_pool3d(recorder: Trace, self: torch.Tensor, output_size: Sequence[Int]) -> object:
    """The maximum of each window, and its index."""
    return pooled(recorder, self, output_size, 3)


@kind_rule(aten.fractional_max_pool2d.default, aten.fractional_max_pool3d.default)
def fractional_max_pool(
    recorder: Trace, self: torch.Tensor, kernel_size: Sequence[int], output_size: Sequence[int], samples: torch.Tensor
) -> object:
    """The same with windows at random positions."""
    env, rank = recorder.env, len(output_size)
    sizes = sizes_of(self)
    for size, kernel, wanted in zip(sizes[-rank:], kernel_size, output_size):
        env.require(size >= sizes_of(wanted) + kernel - 1, "fractional_max_pool: the windows do not fit")
    return pooled(recorder, self, output_size, rank)


def pooled(recorder: Trace, self: torch.Tensor, output_size: Sequence[Int], rank: int) -> object:
    """Values and indices, contiguous."""
    sizes = (*sizes_of(self)[:-rank], *[sizes_of(size) for size in output_size])
    return kinds(recorder, (sizes, sizes), (self.dtype, torch.int64), self.device)


# ---------------------------------------------------------------------- products


@kind_rule(aten._trilinear.default)
def trilinear(
    recorder: Trace, i1: torch.Tensor, i2: torch.Tensor, i3: torch.Tensor, *axes: Sequence[int]
) -> object:
    """The product of three tensors, each with new axes, summed over some."""
    expanded, sumdim = [], axes[3]
    for tensor, places in zip((i1, i2, i3), axes):
        sizes = list(sizes_of(tensor))
        for place in sorted(places):
            sizes.insert(place, 1)
        expanded.append(sizes)
    whole = broadcast(recorder.env, *expanded)
    left = [size for axis, size in enumerate(whole) if axis not in sumdim]
    return packed(recorder, left, i1.dtype, i1.device)


# ---------------------------------------------------------------------- where the meta function differs from the kernel


@kind_rule(aten.glu.default)
def gated(recorder: Trace, self: torch.Tensor, dim: int = -1) -> object:
    """One axis halved; contiguous for a contiguous tensor of any sizes."""
    if type(self) is not Traced or self.metadata is not packed(recorder, self.metadata.shape, self.dtype, self.device):
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.glu.default, self, dim), self.dtype, self.device)


@kind_rule(aten.flip.default)
def flipped(recorder: Trace, self: torch.Tensor, dims: Sequence[int]) -> object:
    """The same sizes; contiguous for a contiguous tensor of any sizes."""
    if type(self) is not Traced or self.metadata is not packed(recorder, self.metadata.shape, self.dtype, self.device):
        return NotImplemented
    ruled(recorder, aten.flip.default, self, dims)
    return self.metadata


@kind_rule(aten.hash_tensor.default)
def hashed(
    recorder: Trace, self: torch.Tensor, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0
) -> object:
    """One hash for all elements along some axes."""
    found: Ruled = vocabulary["sum.dim_IntList"](recorder.env, sizes_of(self), list(dim) or None, keepdim)
    return packed(recorder, found, torch.uint64, self.device)
