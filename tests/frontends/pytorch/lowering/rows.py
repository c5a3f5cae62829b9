"""Functions of rows of different lengths, given as values and offsets, and the kernels that they are compiled to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from backends.loops.kernels import Kernel
from backends.loops.program import Call

aten = torch.ops.aten
OFFSETS = [0, 2, 2, 7], [0, 3], [0, 0, 0, 40, 40, 41, 140], [0, 1, 2, 3], [0, 70, 71], [0, 300]
COLUMNS = 3, 1, 33
MOST = 300


def inputs(offsets: list[int], *columns: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    torch.manual_seed(len(offsets))
    return torch.randn(offsets[-1], *columns).to(dtype), torch.tensor(offsets)


def by_pieces(function: Callable[[Tensor], Tensor], x: Tensor, offsets: Tensor) -> list[Tensor]:
    return [function(x[first:last]) for first, last in pairwise(offsets.tolist())]


def row_of(x: Tensor, offsets: Tensor) -> Tensor:
    return torch.repeat_interleave(offsets.diff(), output_size=x.shape[0])


def softmax(x, offsets):
    row = row_of(x, offsets)
    e = (x - torch.segment_reduce(x, "max", offsets=offsets)[row]).exp()
    return e / torch.segment_reduce(e, "sum", offsets=offsets)[row]


def instance_norm(x, offsets):
    row, count = row_of(x, offsets), offsets.diff().view(-1, *[1] * (x.dim() - 1))
    centred = x - (torch.segment_reduce(x, "sum", offsets=offsets) / count)[row]
    variance = torch.segment_reduce(centred * centred, "sum", offsets=offsets) / count
    return centred * torch.rsqrt(variance + 1e-5)[row]


def sums_by_index(x, offsets):
    return x.new_zeros(offsets.shape[0] - 1, *x.shape[1:]).index_add(0, row_of(x, offsets), x)


def padded(x, offsets, padding=0.0):
    return aten._jagged_to_padded_dense_forward(x, [offsets], [MOST], padding)


def unpadded(x, offsets, like):
    return aten._padded_dense_to_jagged_forward(x, [offsets], like.shape[0])


def jagged_softmax(x, offsets):
    return unpadded(padded(x, offsets, float("-inf")).softmax(1), offsets, x)


def jagged_layer_norm(x, offsets):
    """The layer norm of a nested tensor over its ragged axis and the one behind it."""
    whole, mask = padded(x, offsets), padded(torch.ones(x.shape[0], 1), offsets)
    mask = mask.expand(whole.shape)
    count = offsets.diff()[:, None, None] * whole.shape[2]
    centred = (whole - whole.sum((1, 2), keepdim=True) / count) * mask
    deviation = torch.sqrt(torch.square(centred).sum((1, 2), keepdim=True) / count + 1e-5)
    return unpadded(centred / deviation, offsets, x)


def steps_of(compiled) -> tuple[list[Kernel], list[Call]]:
    """The kernels over rows, and the operators of torch that are called."""
    (variant,) = compiled.variants
    (host,) = variant.running.hosts
    kernels = [step for step in host.steps if isinstance(step, Kernel) and step.ragged is not None]
    calls = [step for step in host.steps if isinstance(step, Call)]
    return kernels, [call for call in calls if isinstance(call.target, torch._ops.OpOverload)]
