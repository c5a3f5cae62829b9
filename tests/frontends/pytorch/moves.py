"""The steps of which random programs are made: each takes one or two tensors and a small number, and gives a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F

Move = Callable[[torch.Tensor, torch.Tensor, int], object]


def last(x: torch.Tensor, k: int) -> int:
    """An axis of a tensor that has some."""
    return k % max(x.dim(), 1)


def grown_in_loop(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    for step in range(k % 3 + 1):
        x = x * 0.5 + step
    return x


def branch_on_sizes(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    return x * 2 if x.shape[0] > y.shape[0] + k else x - 1


def branch_on_parity(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    return x.sin() if x.numel() % 2 == 0 else x.cos()


def written_row(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x[k % 2] = 0.5
    return x


def written_rows(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x[: x.shape[0] // 2] += 1
    return x


def written_mask(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x[x > 0.3] = 0.25
    return x


def written_masked_rows(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x[y[:, 0] > 0] = y[0]
    return x


def copied_into(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x.copy_(y)
    return x


def written_diagonal(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x.diagonal().mul_(0.5)
    return x


def flat_written(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    x.view(-1)[k:].neg_()
    return x


def turned(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    z = x.clone()
    z.transpose_(0, -1)
    return z


def into_given(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    with torch.no_grad():
        torch.add(x, y, out=out)
    return out


def parts_swapped(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    half = x.shape[0] // 2
    first, second = torch.split(x, [half, x.shape[0] - half])
    return torch.cat([second, first])


def padded(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    return F.pad(x, (k, y.shape[-1] % 3))


def cut_to_the_shorter(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    n = torch.sym_min(x.shape[0], y.shape[0])
    return x[:n] * 1.5


MOVES: Final[tuple[Move, ...]] = (
    # element by element
    lambda x, y, k: x.sin(),
    lambda x, y, k: x * 2 - k,
    lambda x, y, k: x.relu(),
    lambda x, y, k: torch.sigmoid(x),
    lambda x, y, k: x + y,
    lambda x, y, k: x * y,
    lambda x, y, k: torch.maximum(x, y),
    lambda x, y, k: torch.where(x > y, x, y * 0.5),
    lambda x, y, k: torch.addcmul(x, y, y, value=0.5),
    lambda x, y, k: x.clamp(-0.5, 0.5),
    lambda x, y, k: (x > 0).to(x.dtype) + y,
    lambda x, y, k: x.to(torch.float32).to(x.dtype),
    grown_in_loop,
    # sizes
    lambda x, y, k: x * x.shape[0],
    lambda x, y, k: x / (y.shape[-1] + 1),
    lambda x, y, k: torch.ones(x.shape[0] + y.shape[-1], dtype=x.dtype),
    lambda x, y, k: torch.arange(x.numel(), dtype=x.dtype),
    lambda x, y, k: x * (x.shape[0] ** 0.5),
    lambda x, y, k: torch.full((x.shape[-1], k + 1), 0.5, dtype=x.dtype),
    lambda x, y, k: x.new_zeros(x.shape[0] // 2 + 1, y.shape[0]),
    branch_on_sizes,
    branch_on_parity,
    # views
    lambda x, y, k: x.transpose(0, -1),
    lambda x, y, k: x.unsqueeze(k % (x.dim() + 1)),
    lambda x, y, k: x.squeeze(last(x, k)),
    lambda x, y, k: x.view(-1),
    lambda x, y, k: x.reshape(-1, x.shape[0]),
    lambda x, y, k: x.reshape(x.shape[0], -1),
    lambda x, y, k: x.flatten(0, 1),
    lambda x, y, k: x.unsqueeze(0).expand(k + 1, *x.shape),
    lambda x, y, k: x.expand(y.shape),
    lambda x, y, k: x[k:],
    lambda x, y, k: x[:-1],
    lambda x, y, k: x[..., ::2],
    lambda x, y, k: x[0],
    lambda x, y, k: x[..., -1],
    lambda x, y, k: x.narrow(last(x, k), 0, (x.shape[last(x, k)] + 1) // 2),
    lambda x, y, k: x.unfold(0, 2, k + 1),
    lambda x, y, k: x.diagonal(),
    lambda x, y, k: x.movedim(0, -1),
    lambda x, y, k: x.chunk(2, last(x, k))[0],
    lambda x, y, k: x.split(2)[-1],
    lambda x, y, k: x.unflatten(-1, (-1, 2)),
    cut_to_the_shorter,
    # fresh ones
    lambda x, y, k: x.contiguous(),
    lambda x, y, k: x.clone(),
    lambda x, y, k: x.repeat(2, *[1] * (x.dim() - 1)),
    lambda x, y, k: x.repeat_interleave(2, dim=last(x, k)),
    lambda x, y, k: x.roll(k, 0),
    lambda x, y, k: x.flip(last(x, k)),
    lambda x, y, k: x.tril(),
    lambda x, y, k: x.index_select(0, torch.arange(x.shape[0] - 1, -1, -1)),
    lambda x, y, k: x.gather(0, torch.zeros(1, *x.shape[1:], dtype=torch.int64)),
    lambda x, y, k: x[torch.tensor([0, -1])],
    padded,
    parts_swapped,
    # reductions
    lambda x, y, k: x.sum(last(x, k)),
    lambda x, y, k: x.mean(last(x, k), keepdim=True),
    lambda x, y, k: x.amax(last(x, k)),
    lambda x, y, k: x.softmax(last(x, k)),
    lambda x, y, k: x.cumsum(last(x, k)),
    lambda x, y, k: x.logsumexp(last(x, k)),
    lambda x, y, k: x.norm(dim=last(x, k)),
    lambda x, y, k: x - x.sum(),
    lambda x, y, k: x.max(last(x, k)).values,
    lambda x, y, k: F.layer_norm(x, x.shape[-1:]),
    # joined
    lambda x, y, k: torch.cat([x, y], last(x, k)),
    lambda x, y, k: torch.cat([x, x[:1], y]),
    lambda x, y, k: torch.stack([x, y], last(x, k)),
    # products
    lambda x, y, k: x @ y,
    lambda x, y, k: x @ y.transpose(-1, -2),
    lambda x, y, k: torch.einsum("i...,j->ij...", x, y.reshape(-1)),
    lambda x, y, k: torch.outer(x.reshape(-1), y.reshape(-1)),
    lambda x, y, k: F.linear(x, y.new_ones(k + 1, x.shape[-1])),
    # in place
    lambda x, y, k: x.add_(y),
    lambda x, y, k: x.mul_(0.5),
    lambda x, y, k: x.masked_fill_(y > 0, 0.125),
    lambda x, y, k: x.t().add_(1),
    written_row,
    written_rows,
    written_mask,
    written_masked_rows,
    written_diagonal,
    flat_written,
    copied_into,
    turned,
    into_given,
    # as many as the data say
    lambda x, y, k: x[x > 0],
    lambda x, y, k: x[y.reshape(-1)[: x.shape[0]] > 0],
    lambda x, y, k: x * torch.nonzero(x.reshape(-1) > 0).shape[0],
    lambda x, y, k: torch.masked_select(x, x < k).sum(),
)
