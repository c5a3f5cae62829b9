"""Training steps of models on rows of different lengths: compiled, and in eager torch on jagged and on padded rows.

    python -m benchmarks.ragged_training [--rows 64] [--longest 64] [--width 64] [--threads 1] [--write]

The transformer and the recommender of `tests/frontends/pytorch/ragged/models.py`; the padded ones compute the same
losses from rows that are padded to the longest, with a mask. A step is a forward, a backward and a step of SGD, over
batches with other numbers of rows and other lengths. Medians of interleaved rounds over all batches.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import report
from benchmarks.clocks import clock_for
from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.models import FIELDS, Recommender, Transformer, words

Batch: TypeAlias = tuple[tuple[Tensor, ...], Tensor]
Step: TypeAlias = Callable[[Batch], float]
BATCHES = 8
FORGETFUL = 2
"""Rounds before the first that counts."""


class PaddedTransformer(Transformer):
    """The transformer on padded words and the mask of those that are there."""

    def forward(self, padded: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        block = self.block
        x = self.table(padded)
        normed = block.before(x)
        given = [each(normed) for each in (block.query, block.key, block.value)]
        heads = [each.unflatten(-1, [block.heads, -1]).transpose(1, 2) for each in given]
        attended = F.scaled_dot_product_attention(*heads, attn_mask=mask[:, None, None]).transpose(1, 2).flatten(-2)
        x = x + block.out(attended)
        x = x + block.narrow(F.gelu(block.wide(block.between(x))))
        classified: Tensor = self.head((x * mask[..., None]).sum(1))
        return classified


class PaddedRecommender(Recommender):
    """The recommender on padded items and the masks of those that are there."""

    def forward(self, dense: Tensor, *items: Tensor) -> Tensor:
        below = self.below(dense)
        tables = [*[bag.weight for bag in self.bags], self.table.weight]
        given = [*zip(items[::2], items[1::2]), items[:2]]
        vectors = [(F.embedding(one, table) * mask[..., None]).sum(1) for (one, mask), table in zip(given, tables)]
        stacked = torch.stack([below, *vectors], 1)
        products = stacked @ stacked.transpose(1, 2)
        classified: Tensor = self.above(torch.cat([below, products[:, self.pairs[0], self.pairs[1]]], 1))
        return classified


def padded(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows padded to the longest, and which elements are there."""
    whole = rows.to_padded_tensor(-1)
    return whole.clamp(min=0), whole >= 0


def batches(model: type[nn.Module], rows: int, longest: int) -> tuple[list[Batch], list[Batch]]:
    """Jagged batches, and the same padded."""
    jagged, dense = [], []
    generator = torch.Generator().manual_seed(0)
    for number in range(BATCHES):
        count = rows + number % 5
        labels = torch.randint(0, 2, (count,), generator=generator)
        fields = 1 if model is Transformer else FIELDS
        given = [words(generator, count, longest) for _ in range(fields)]
        others = () if model is Transformer else (torch.randn(count, 6, generator=generator),)
        jagged.append(((*others, *given), labels))
        dense.append(((*others, *[part for each in given for part in padded(each)]), labels))
    return jagged, dense


def step_of(model: nn.Module, run: Callable[..., Any]) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch: Batch) -> float:
        given, labels = batch
        loss = F.cross_entropy(run(*given), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def measured(name: str, forms: Sequence[Any], options: argparse.Namespace) -> list[report.Cell]:
    """A row of the table; `forms` are the model and the padded one."""
    jagged, dense = batches(forms[0], options.rows, options.longest)
    models = []
    for form in (forms[0], forms[0], forms[1]):
        torch.manual_seed(0)
        models.append(form(options.width))
    compiled = compile(models[0], backend="cpu")
    runs = (compiled, models[1], models[2])
    steps = [*zip(map(step_of, models, runs), (jagged, jagged, dense))]
    losses = [[step(batch) for batch in given] for step, given in steps]
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(losses[2], losses[1], rtol=1e-4, atol=1e-4)
    clock = clock_for(options.threads)
    times: list[list[float]] = [[] for _ in steps]
    for number in range(options.rounds + FORGETFUL):
        for (step, given), taken in zip(steps, times):
            start = clock()
            for batch in given:
                step(batch)
            if number >= FORGETFUL:
                taken.append((clock() - start) / BATCHES)
    ours, eager, wide = [1e6 * statistics.median(taken) for taken in times]
    return [name, ours, eager, wide, ours / eager, ours / wide]


def measure(options: argparse.Namespace) -> str:
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore")
    pairs = {"transformer": (Transformer, PaddedTransformer), "recommender": (Recommender, PaddedRecommender)}
    rows = [measured(name, forms, options) for name, forms in pairs.items()]
    header = ["model", "ours, µs", "eager jagged", "eager padded", "ours / jagged", "ours / padded"]
    what = f"{options.rows} rows and a few more of 1 to {options.longest - 1} elements, models {options.width} wide"
    return f"{what}.\n\n{report.table(header, rows)}"


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--longest", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    report.publish("ragged_training", "Training on rows of different lengths", measure, parser)


if __name__ == "__main__":
    main()
