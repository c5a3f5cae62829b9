"""Rows of different lengths, as values and offsets: kernels over them beside eager, row by row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from backends.loops.kernels import Kernel
from backends.loops.program import Call
from frontends.pytorch import compile

aten = torch.ops.aten
OFFSETS = [0, 2, 2, 7], [0, 3], [0, 0, 0, 40, 40, 41, 140], [0, 1, 2, 3], [0, 70, 71], [0, 300]
COLUMNS = 1, 3, 33
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
    """As a nested tensor normalizes over its ragged axis and the one behind it."""
    whole, mask = padded(x, offsets), padded(torch.ones(x.shape[0], 1), offsets)
    mask = mask.expand(whole.shape)
    count = offsets.diff()[:, None, None] * whole.shape[2]
    centred = (whole - whole.sum((1, 2), keepdim=True) / count) * mask
    deviation = torch.sqrt(torch.square(centred).sum((1, 2), keepdim=True) / count + 1e-5)
    return unpadded(centred / deviation, offsets, x)


FUSED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "sum": (lambda x, o: torch.segment_reduce(x, "sum", offsets=o), lambda piece: piece.sum(0, True)),
    "mean": (lambda x, o: torch.segment_reduce(x, "mean", offsets=o), lambda piece: piece.mean(0, True)),
    "product": (lambda x, o: torch.segment_reduce(x, "prod", offsets=o), lambda piece: piece.prod(0, True)),
    "softmax": (softmax, lambda piece: piece.softmax(0)),
    "norm": (
        instance_norm,
        lambda piece: (piece - piece.mean(0)) * torch.rsqrt(piece.var(0, correction=0) + 1e-5),
    ),
    "sums by index": (sums_by_index, lambda piece: piece.sum(0, True)),
    "padded sums": (lambda x, o: padded(x, o).sum(1), lambda piece: piece.sum(0, True)),
    "padded means": (
        lambda x, o: padded(x, o).sum(1) / o.diff()[:, None],
        lambda piece: piece.mean(0, True),
    ),
    "padded softmax": (jagged_softmax, lambda piece: piece.softmax(0)),
    "padded layer norm": (
        jagged_layer_norm,
        lambda piece: torch.nn.functional.layer_norm(piece, piece.shape),
    ),
    "padding that adds": (
        lambda x, o: padded(x, o, 0.25).exp().sum(1),
        lambda piece: piece.exp().sum(0, True) + (MOST - len(piece)) * torch.tensor(0.25).exp(),
    ),
}  # fmt: skip


def host_steps(compiled) -> list[object]:
    (variant,) = compiled.variants
    (host,) = variant.running.hosts
    return [step for step in host.steps if not isinstance(step, Call) or "Required" not in repr(step)]


@pytest.mark.parametrize("name", FUSED)
def test_rows_are_reduced_by_one_kernel(name: str) -> None:
    """A row's result is that of another, an empty row's is no identity, or what one kernel does takes several."""
    function, of_piece = FUSED[name]
    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in OFFSETS:
        for columns in COLUMNS:
            x, rows = inputs(offsets, columns)
            expected = torch.cat(by_pieces(of_piece, x, rows))
            torch.testing.assert_close(compiled(x, rows), expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    ragged = [step for step in host_steps(compiled) if isinstance(step, Kernel) and step.ragged is not None]
    assert len(ragged) == 1
    assert not any(isinstance(step, Call) for step in host_steps(compiled))
