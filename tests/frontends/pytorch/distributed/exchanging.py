"""Programs that exchange data with other ranks; each rank has its own number of rows."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch.nn.functional import pad

torch._dynamo.config.capture_scalar_outputs = True


def group() -> dist.ProcessGroup:
    found = dist.group.WORLD
    assert found is not None
    return found


def reduced(x: torch.Tensor) -> torch.Tensor:
    return collectives.all_reduce(x.sum(0), "sum", group()) + x


def reduced_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    dist.all_reduce(y)
    return x + y


def gathered(x: torch.Tensor) -> torch.Tensor:
    return collectives.all_gather_single(x.sum(0), 0, group()).relu()


def scattered(x: torch.Tensor) -> torch.Tensor:
    return collectives.reduce_scatter_single(x.T @ x, "sum", 0, group()) + 1


def sent(x: torch.Tensor) -> torch.Tensor:
    """Halves of unequal length to two ranks."""
    first = x.shape[0] // 2
    mine = torch.tensor([first, x.shape[0] - first])
    theirs = collectives.all_to_all_single(mine, None, None, group())
    return collectives.all_to_all_single_autograd(x * 2, theirs.tolist(), mine.tolist(), group()).relu()


def padded(x: torch.Tensor) -> torch.Tensor:
    """All rows of all ranks, padded for the exchange."""
    counts = collectives.all_gather_single(torch.tensor([x.shape[0]]), 0, group()).tolist()
    most = max(counts)
    rows = pad(x, (0, 0, 0, most - x.shape[0]))
    ranks = collectives.all_gather_single_autograd(rows, 0, group()).view(len(counts), -1, 4)
    return torch.cat([ranks[rank, :count] for rank, count in enumerate(counts)]) * 2


def experts(x: torch.Tensor) -> torch.Tensor:
    """Rows go to the rank that their first number chooses, and come back: some ranks get none."""
    world = dist.get_world_size()
    chosen = (x[:, 0].abs() * 7).long() % world
    order = chosen.argsort(stable=True)
    # one number for each rank: a histogram has as many as the data say
    mine = (chosen[:, None] == torch.arange(world)).sum(0)
    theirs = collectives.all_to_all_single(mine, None, None, group())
    there, here = theirs.tolist(), mine.tolist()
    worked = collectives.all_to_all_single_autograd(x[order], there, here, group()) * (dist.get_rank() + 1)
    back = collectives.all_to_all_single_autograd(worked, here, there, group())
    return back[order.argsort()] + x


def branching(x: torch.Tensor, others: list[torch.Tensor]) -> torch.Tensor:
    y = x * 2 + others[0].sum(0)
    torch._dynamo.graph_break()
    return y + x.sum(0)
