"""The part of the tour that compiles a model to kernels: what they are, what was decided, and how fast it is.

    python -m benchmarks.demo_kernels [--baselines]

With `--baselines` the table includes torch.compile, which takes a minute to compile the model.
"""

import logging
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

from backends.loops.kernels import Kernel
from benchmarks.demo_transformer import Transformer
from frontends.pytorch import compile

SHAPES = ((2, 12), (1, 1), (3, 33), (8, 64))
ROUNDS = 15
KINDS, SHOWN = 8, 4
"""The number of kinds of decisions that are shown, and of those with their facts."""


def show(console: Console, *, baselines: bool = False) -> None:
    """Compile a transformer to kernels, show one of them and the decisions, and run it beside eager."""
    torch.manual_seed(0)
    model = Transformer()
    began = time.perf_counter()
    compiled = compile(model, dynamic=True, backend="cpu")
    compiled(*torch.randint(100, (2, *SHAPES[0])))
    seconds = time.perf_counter() - began
    running = compiled.variants[0].running
    if running.note:
        console.print(f"[yellow]operators run one by one: {running.note}[/]\n")
        return
    forward, backward = running.hosts
    kernels = [[step for step in host.steps if isinstance(step, Kernel)] for host in (forward, backward)]
    console.print(
        f"[bold]compile(model, backend='cpu')[/]: {len(kernels[0])} kernels forward and {len(kernels[1])} backward for"
        f" all sizes, the first call in {seconds:.1f} s. The one with most passes:"
    )
    _lines(console, str(max(kernels[0], key=lambda kernel: len(kernel.passes))))
    log = [decision for host in (forward, backward) for decision in host.program.decisions.log]
    counted = Counter([(decision.kind, decision.answer, decision.chosen, decision.added) for decision in log])
    table = Table(title="Decisions, forward and backward", title_justify="left")
    for column in ("about", "verdict", "chosen", "added", "times"):
        table.add_column(column)
    for decision, count in counted.most_common(KINDS):
        table.add_row(*decision, str(count))
    rest = counted.most_common()[KINDS:]
    table.add_row(f"{len(rest)} others", "", "", "", str(sum(count for _, count in rest)))
    console.print(table)
    console.print("[bold]explain(kernels=True)[/] has each with its facts, as in:")
    _lines(console, "\n".join([f"  {decision}" for decision in log if decision.core][:SHOWN]))
    console.print(speed(model, compiled, baselines=baselines))


def _lines(console: Console, text: str) -> None:
    """Each line on one line of the screen, cut off where that ends."""
    console.print(text, highlight=False, markup=False, no_wrap=True, overflow="ellipsis")


def speed(model: torch.nn.Module, compiled: Callable[..., torch.Tensor], *, baselines: bool) -> Table:
    """Milliseconds of a training step, all in turn."""
    engines: dict[str, Callable[..., torch.Tensor]] = {"eager": model, "kernels": compiled}
    if baselines:
        logging.getLogger("torch").setLevel(logging.ERROR)
        by_torch = torch.compile(model, dynamic=True)
        by_torch(*torch.randint(100, (2, *SHAPES[0])))
        engines["torch.compile"] = by_torch
    table = Table(title="A training step, ms", title_justify="left")
    for column in ("batch, sequence", *engines):
        table.add_column(column, justify="right")
    parameters = list(model.parameters())
    for shape in SHAPES:
        tokens, targets = torch.randint(100, (2, *shape))
        times: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(ROUNDS):
            for name, function in engines.items():
                began = time.perf_counter()
                torch.autograd.grad(function(tokens, targets), parameters)
                times[name].append(time.perf_counter() - began)
        table.add_row(f"{shape[0]}, {shape[1]}", *[f"{statistics.median(each) * 1e3:.2f}" for each in times.values()])
    return table


if __name__ == "__main__":
    show(Console(), baselines="--baselines" in sys.argv)
