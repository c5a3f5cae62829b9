"""A transformer and a recommender on ragged rows, with batches of other sizes at each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORDS: Final = 50
FIELDS: Final = 3


class Block(nn.Module):
    """Attention and a perceptron, each after a layer norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = [nn.Linear(width, width) for _ in range(4)]
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.before(x)
        given = [each(normed) for each in (self.query, self.key, self.value)]
        heads = [each.unflatten(-1, [self.heads, -1]).transpose(1, 2) for each in given]
        attended = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(-2)
        x = x + self.out(attended)
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


class Transformer(nn.Module):
    """Classifies sequences of words."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, width)
        self.block = Block(width, heads)
        self.head = nn.Linear(width, 2)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.block(self.table(words)).to_padded_tensor(0.0).sum(1))


class Recommender(nn.Module):
    """Bags of items and a dense vector, their products in pairs, perceptrons below and above."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.bags = nn.ModuleList([
            nn.EmbeddingBag(WORDS, width, mode="sum", include_last_offset=True) for _ in range(FIELDS)
        ])
        self.table = nn.Embedding(WORDS, width)
        self.below = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width))
        count = FIELDS + 2
        self.pairs = torch.triu_indices(count, count, 1).unbind()
        self.above = nn.Sequential(nn.Linear(width + count * (count - 1) // 2, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, dense: Tensor, *items: Tensor) -> Tensor:
        below = self.below(dense)
        vectors = [below, *[bag(each.values(), each.offsets()) for bag, each in zip(self.bags, items)]]
        vectors.append(self.table(items[0]).to_padded_tensor(0.0).sum(1))
        stacked = torch.stack(vectors, 1)
        products = stacked @ stacked.transpose(1, 2)
        return self.above(torch.cat([below, products[:, self.pairs[0], self.pairs[1]]], 1))


def words(generator: torch.Generator, rows: int, longest: int) -> Tensor:
    """Rows of random words."""
    lengths = torch.randint(1, longest, (rows,), generator=generator).tolist()
    given = [torch.randint(0, WORDS, (length,), generator=generator) for length in lengths]
    return torch.nested.nested_tensor(given, layout=torch.jagged)


def batch(model: type[nn.Module], step: int) -> tuple[tuple[Any, ...], Tensor]:
    """The arguments and labels of a step: four to eight rows."""
    generator = torch.Generator().manual_seed(step)
    rows = 4 + step % 5
    labels = torch.randint(0, 2, (rows,), generator=generator)
    if model is Transformer:
        return (words(generator, rows, 12),), labels
    dense = torch.randn(rows, 6, generator=generator)
    return (dense, *[words(generator, rows, 7) for _ in range(FIELDS)]), labels


def trained(model: type[nn.Module], compiling: Callable[[nn.Module], Any], steps: int) -> tuple[list[float], Any]:
    """The losses of so many steps, and what ran."""
    torch.manual_seed(0)
    made = model()
    optimizer = torch.optim.SGD(made.parameters(), lr=0.05)
    run = compiling(made)
    losses = []
    for step in range(steps):
        given, labels = batch(model, step)
        loss = F.cross_entropy(run(*given), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, run
