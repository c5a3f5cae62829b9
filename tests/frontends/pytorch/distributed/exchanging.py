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


def gathered_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    gathered = y.new_empty(4 * dist.get_world_size())
    dist.all_gather_into_tensor(gathered, y)
    return gathered.relu()


def scattered_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.T @ x
    part = y.new_empty(4 // dist.get_world_size(), 4)
    dist.reduce_scatter_tensor(part, y)
    return part + 1


def listed(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    rows = [torch.empty_like(y) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, y)
    return torch.stack(rows)


def broadcast(x: torch.Tensor) -> torch.Tensor:
    return collectives.broadcast(x.sum(0), 1, group()) * x


def permuted(x: torch.Tensor) -> torch.Tensor:
    """The tensor, sent to the next rank."""
    world = dist.get_world_size()
    return collectives.permute_tensor(x.sum(0), [(rank + 1) % world for rank in range(world)], group()) + x


def overlapped(x: torch.Tensor) -> torch.Tensor:
    """Work between the begin of an exchange and the wait for it."""
    y = collectives.all_reduce(x.sum(0), "sum", group())
    z = (x * 2).relu()
    return z + y


def broadcast_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    dist.broadcast(y, 1)
    return y * x


def asynchronous(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    work = dist.all_reduce(y, async_op=True)
    z = (x * 2).relu()
    assert work is not None
    work.wait()
    return z + y


def meeting(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    dist.barrier()
    return y.sum(0) + x


def from_first(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    parts = [y * rank for rank in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    part = torch.empty(4)
    dist.scatter(part, parts)
    return x + part


def sent_in_place(x: torch.Tensor) -> torch.Tensor:
    """Halves of unequal length to two ranks."""
    first = x.shape[0] // 2
    mine = torch.tensor([first, x.shape[0] - first])
    theirs = torch.empty_like(mine)
    dist.all_to_all_single(theirs, mine)
    here, there = theirs.tolist(), mine.tolist()
    received = x.new_empty(sum(here), 4)
    dist.all_to_all_single(received, x * 2, here, there)
    return received.relu()


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


def routed(x: torch.Tensor, router: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """A mixture of experts, one on each rank: each row goes to the best, times its probability."""
    world = dist.get_world_size()
    probability, chosen = (x @ router).softmax(1).max(1)
    order = chosen.argsort(stable=True)
    mine = (chosen[:, None] == torch.arange(world)).sum(0)
    theirs = collectives.all_to_all_single(mine, None, None, group())
    there, here = theirs.tolist(), mine.tolist()
    rows = collectives.all_to_all_single_autograd(x[order], there, here, group())
    back = collectives.all_to_all_single_autograd((rows @ weights).relu(), here, there, group())
    return back[order.argsort()] * probability[:, None] + x


def branching(x: torch.Tensor, others: list[torch.Tensor]) -> torch.Tensor:
    y = x * 2 + others[0].sum(0)
    torch._dynamo.graph_break()
    return y + x.sum(0)
