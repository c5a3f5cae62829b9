"""A small GPT-2 that several ranks train: data parallel, fully sharded, tensor parallel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

WORDS: Final = 32
WIDTH: Final = 16
HEAD: Final = 4
"""Numbers of one head of attention."""


class Block(nn.Module):
    def __init__(self, width: int, head: int) -> None:
        super().__init__()
        self.head = head
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        y = self.before(x)
        # as many heads as the rank has
        heads = [layer(y).unflatten(2, (-1, self.head)).transpose(1, 2) for layer in (self.query, self.key, self.value)]
        attended = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.between(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, layers: int, *, words: int = WORDS, width: int = WIDTH, head: int = HEAD) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList([Block(width, head) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def data_parallel(model: GPT2) -> nn.Module:
    return DistributedDataParallel(model)


def in_buckets(model: GPT2) -> nn.Module:
    """Torch splits the graph, so that gradients are exchanged bucket by bucket."""
    dist._DEFAULT_FIRST_BUCKET_BYTES = 2000
    return DistributedDataParallel(model, bucket_cap_mb=0.005)


def fully_sharded(model: GPT2) -> nn.Module:
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return model


def tensor_parallel(model: GPT2) -> nn.Module:
    """Heads and the wide layer divided among the ranks; all of them see the same words."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    divided = dict.fromkeys(("query", "key", "value", "wide"), ColwiseParallel())
    for block in model.blocks:
        parallelize_module(block, mesh, {**divided, "out": RowwiseParallel(), "narrow": RowwiseParallel()})
    return model


def losses(rank: int, model: nn.Module, called: Callable[[Tensor], Tensor], steps: int) -> list[float]:
    """The loss of each step, with other sizes in each and on each rank."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for step in range(steps):
        numbers = torch.Generator().manual_seed(1000 * step + rank)
        batch, length = (int(torch.randint(2, most, (), generator=numbers)) for most in (6, 17))
        words = torch.randint(0, WORDS, (batch, length), generator=numbers)
        after = torch.randint(0, WORDS, (batch, length), generator=numbers)
        loss = functional.cross_entropy(called(words).flatten(0, 1), after.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def trained(
    rank: int, *, parallel: Callable[[GPT2], nn.Module], steps: int, layers: int, **options: Any
) -> tuple[list[float], list[float], list[int]]:
    """The losses compiled and eager, and the number of variants of each graph."""
    from frontends.pytorch import compile
    from frontends.pytorch.shape_env import ranks

    # the machine may be slow
    ranks.PATIENCE = 300.0  # type: ignore[misc]
    seed = 0 if parallel is tensor_parallel else rank
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(parallel(GPT2(layers)))
    compiled = compile(models[0], **options)
    found = losses(seed, models[0], compiled, steps), losses(seed, models[1], models[1], steps)
    assert not compiled.fallbacks
    assert not any(graph.reason for graph in compiled.graphs)
    return (*found, [len(part.variants) for graph in compiled.graphs for part in graph.parts])
