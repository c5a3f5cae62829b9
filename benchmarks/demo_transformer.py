"""The part of the tour that compiles a small transformer: many shapes, few graphs, every guard with its line.

    python -m benchmarks.demo_transformer
"""

import itertools
from collections.abc import Iterable, Iterator

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn import functional

from frontends.pytorch import compile

SHAPES = ((2, 12), (3, 16), (7, 5), (1, 1), (4, 80), (2, 64))


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layer = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.layer = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, width = x.shape
        heads = self.attention(self.before_attention(x)).view(b, s, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(b, s, width))
        return x + self.layer(self.before_layer(x))


class Transformer(nn.Module):
    """Tokens in, the loss of predicting the next one out. Long inputs are read in windows."""

    def __init__(self, vocabulary: int = 100, width: int = 64, heads: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if tokens.shape[1] > 64:
            tokens, targets = tokens[:, -64:], targets[:, -64:]
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        scores = self.norm(x) @ self.tokens.weight.t()
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


def gradient(model: nn.Module, loss: torch.Tensor) -> torch.Tensor:
    """All gradients of the model as one vector."""
    return torch.cat([each.flatten() for each in torch.autograd.grad(loss, list(model.parameters()))])


def show(console: Console) -> None:
    """Train at many shapes, beside eager, and say what was compiled and why."""
    torch.manual_seed(0)
    model = Transformer()
    compiled = compile(model, dynamic=True)
    table = Table(title="A transformer, its loss and gradients", title_justify="left")
    for column in ("batch, sequence", "variant", "loss", "as eager"):
        table.add_column(column)
    for batch, sequence in SHAPES:
        tokens, targets = torch.randint(100, (2, batch, sequence))
        before = len(compiled.variants)
        loss = compiled(tokens, targets)
        expected = model(tokens, targets)
        same = torch.allclose(loss, expected, atol=1e-5) and torch.allclose(
            gradient(model, loss), gradient(model, expected), atol=1e-4
        )
        new = "traced" if len(compiled.variants) > before else "found"
        table.add_row(f"{batch}, {sequence}", new, f"{loss.item():.3f}", "yes" if same else "NO")
    console.print(table)
    console.print("[bold]compiled.explain()[/], shortened:")
    for line in shortened(compiled.explain().splitlines()):
        console.print(line, highlight=False, markup=False, no_wrap=True, overflow="ellipsis")
    console.print()


def shortened(lines: Iterable[str], shown: int = 3) -> Iterator[str]:
    """An explanation with the first few lines of each list: inputs, guards, operators."""
    for (indent, is_title), listed in itertools.groupby(lines, lambda line: (indentation(line), line.endswith(":"))):
        items = list(listed)
        yield from items if is_title else items[:shown]
        if not is_title and len(items) > shown:
            yield f"{' ' * indent}... and {len(items) - shown} lines more"


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    show(Console())
