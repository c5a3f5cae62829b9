"""Programs that cannot be one graph: kernels between breaks, against operator by operator and `torch.compile`.

    python -m benchmarks.breaks [--rounds 7] [--programs chain,gpt2] [--write]

Inference without gradients, one thread, processor time, medians, interleaved. "eager" is torch alone; the others are
its multiples: the program compiled with `backend="eager"`, so that captured operators run one after the other, with
`backend="cpu"`, and by Inductor with `dynamic=True`. "captured" is the share of operators that run in captured graphs.
"""

from __future__ import annotations

import argparse
import io
import logging
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import report

if TYPE_CHECKING:
    import torch

LEAST = 0.02
WARM = 3


@dataclass(frozen=True)
class Case:
    """A program that breaks, with its arguments at a few sizes."""

    name: str
    function: Callable[..., object]
    arguments: Sequence[tuple[object, ...]]


def cases() -> Iterator[Case]:
    import torch
    from torch.nn import functional as F

    from benchmarks.models import MODELS

    sink = io.StringIO()

    def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = F.gelu(x * 1.5 + y) * torch.sigmoid(y)
        z = F.layer_norm(z, (z.shape[-1],))
        if z.abs().max().item() > 100:
            z = z / 2
        w = torch.tanh(torch.softmax(z * 0.125 + y, -1) * z) + x.relu()
        return F.layer_norm(w, (w.shape[-1],))

    yield Case("chain", chain, [(torch.randn(size), torch.randn(size)) for size in ((4, 8), (64, 256), (512, 1024))])

    def block(width: int) -> torch.nn.Module:
        inner = torch.nn.Sequential(
            torch.nn.Linear(width, 2 * width),
            torch.nn.GELU(),
            torch.nn.Linear(2 * width, width),
            torch.nn.LayerNorm(width),
        )
        return inner.eval()

    first, second = block(128), block(128)

    def printed(x: torch.Tensor) -> torch.Tensor:
        x = x + first(x)
        print("between", file=sink)
        return torch.softmax(x + second(x), -1)

    yield Case("print", printed, [(torch.randn(2, 7, 128),), (torch.randn(8, 256, 128),)])

    for name, sizes in (("gpt2", ((1, 8), (8, 64))), ("resnet", ((2, 8), (8, 16)))):
        model = MODELS[name]
        module = model.build().eval()
        names = list(model.inputs(2, 8))

        def twice(*values: torch.Tensor, module: torch.nn.Module = module, names: list[str] = names) -> object:
            given = dict(zip(names, values))
            once = module(**given)
            total = (once if hasattr(once, "mean") else once.logits).mean().item()
            again = module(**given)
            return again if total < 1e9 else total

        yield Case(f"{name} twice", twice, [tuple(model.inputs(*size).values()) for size in sizes])


def measure(options: argparse.Namespace) -> str:
    import torch

    from frontends.pytorch import compile

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    rows: list[list[report.Cell]] = []
    for case in cases():
        if options.programs and case.name.split()[0] not in options.programs.split(","):
            continue
        torch._dynamo.reset()
        ours = compile(case.function, backend="cpu", dynamic=True)
        runs = {
            "eager": case.function,
            "one by one": compile(case.function, backend="eager", dynamic=True),
            "kernels": ours,
            "inductor": torch.compile(case.function, dynamic=True),
        }
        with torch.no_grad():
            for arguments in case.arguments:
                times = medians(runs, arguments, options.rounds)
                sizes = ", ".join([f"({', '.join(map(str, each.shape))})" for each in arguments])
                ratios = [times[name] / times["eager"] for name in ("one by one", "kernels", "inductor")]
                notes = [each.note for each in ours.broken.kernels if each.note]
                if notes:
                    raise RuntimeError(f"{case.name} does not run as kernels: {notes[0]}")
                operators, captured = ours.broken.operators, ours.broken.captured
                rows.append([case.name, sizes, times["eager"] * 1e6, *ratios, f"{100 * captured // operators} %"])
    header = ["program", "sizes", "eager, µs", "one by one", "kernels", "torch.compile", "captured"]
    return f"{report.table(header, rows)}\n\n{report.versions('torch', 'transformers')}."


def medians(runs: dict[str, Callable[..., object]], arguments: tuple[object, ...], rounds: int) -> dict[str, float]:
    """Seconds of a call, by who runs it."""
    import torch

    for run in runs.values():
        for _ in range(WARM):
            found = run(*arguments)
        torch.testing.assert_close(tensors(found), tensors(runs["eager"](*arguments)), rtol=1e-3, atol=1e-4)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            count, began = 0, time.process_time()
            while (spent := time.process_time() - began) < LEAST:
                run(*arguments)
                count += 1
            times[name].append(spent / count)
    return {name: statistics.median(each) for name, each in times.items()}


def tensors(value: object) -> list[torch.Tensor]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--programs", default="")
    report.publish("breaks", "Programs with graph breaks", measure, parser)


if __name__ == "__main__":
    main()
