"""Training steps of a small GPT-2 on several ranks, compiled and eager: data parallel, fully sharded, tensor parallel.

    python -m benchmarks.ranks [--world 2] [--steps 30] [--layers 4] [--width 256] [--ways DDP,FSDP2] [--write]

A step is forward, loss, backward and the optimizer. Every rank has sizes of its own, which change with each step; the
ranks of tensor parallelism have the same. Steps are interleaved: compiled and eager of the same sizes, one after the
other. Times are medians over the steps of the slowest rank, one thread for each; "processor" is the work of a rank,
without the wait for others. A ratio is the median of those of the steps.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from benchmarks import report

SKIPPED: Final = 5
"""Steps before the first that counts: compilation, and the first use of memory."""
WORDS: Final = 512
Times = list[tuple[float, float, float, float]]
"""For each step, wall and processor seconds compiled, then eager."""


def steps(rank: int, *, way: str, count: int, layers: int, width: int, backend: str) -> tuple[Times, int, int]:
    """The times of one rank, the number of its graphs and of their variants."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn import functional

    from frontends.pytorch import compile
    from tests.frontends.pytorch.distributed import training

    parallel = {
        "DDP": training.data_parallel, "FSDP2": training.fully_sharded, "tensor parallel": training.tensor_parallel,
    }[way]  # fmt: skip
    models = list[nn.Module]()
    for _ in range(2):
        torch.manual_seed(0)
        models.append(parallel(training.GPT2(layers, words=WORDS, width=width, head=32)))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in models]
    compiled = compile(models[0], backend=backend, dynamic=True if way == "tensor parallel" else None)
    called: list[Callable[[torch.Tensor], torch.Tensor]] = [compiled, models[1]]
    found = []
    for step in range(count + SKIPPED):
        numbers = torch.Generator().manual_seed(1000 * step + (0 if way == "tensor parallel" else rank))
        batch, length = (int(torch.randint(least, most, (), generator=numbers)) for least, most in ((4, 9), (32, 65)))
        words, after = (torch.randint(0, WORDS, (batch, length), generator=numbers) for _ in range(2))
        times, losses = list[float](), list[float]()
        for model, optimizer in zip(called, optimizers):
            dist.barrier()
            wall, processor = time.perf_counter(), time.process_time()
            loss = functional.cross_entropy(model(words).flatten(0, 1), after.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            times += [time.perf_counter() - wall, time.process_time() - processor]
            losses.append(loss.item())
        assert abs(losses[0] - losses[1]) < 1e-3, losses
        found.append((times[0], times[1], times[2], times[3]))
    assert not compiled.fallbacks and not any(graph.reason for graph in compiled.graphs)
    return found[SKIPPED:], len(compiled.graphs), len(compiled.variants)


def row(way: str, by_rank: Sequence[tuple[Times, int, int]]) -> list[report.Cell]:
    """The row of a table."""
    cells: list[report.Cell] = [way]
    for kind in (0, 1):
        # what the slowest rank takes
        both = [[max(times[step][kind + side] for times, _, _ in by_rank) for side in (0, 2)]
                for step in range(len(by_rank[0][0]))]
        cells += [1e3 * statistics.median(each[side] for each in both) for side in (1, 0)]
        cells.append(statistics.median(one / other for one, other in both))
    return [*cells, by_rank[0][1], by_rank[0][2]]


def measure(options: argparse.Namespace) -> str:
    from tests.frontends.pytorch.distributed.processes import run

    rows = []
    for way in options.ways.split(","):
        program = partial(
            steps, way=way, count=options.steps, layers=options.layers, width=options.width, backend=options.backend,
        )  # fmt: skip
        rows.append(row(way, [each for each in run(options.world, program, limit=1800) if each is not None]))
    header = ["", "eager, ms", "compiled", "ratio", "processor: eager, ms", "compiled", "ratio", "graphs", "variants"]
    what = f"{options.world} ranks, {options.layers} layers of width {options.width}, {options.steps} steps"
    return f"{what}.\n\n{report.table(header, rows)}"


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--ways", default="DDP,FSDP2,tensor parallel", help="some of them, with commas between")
    parser.add_argument("--backend", default="cpu")
    report.publish("ranks", "Training on several ranks", measure, parser)


if __name__ == "__main__":
    main()
