"""Tracing a training step: forward and backward in one graph, against torch's `make_fx` in the same run.

    python -m benchmarks.tracing [--rounds 7] [--symbolic 1] [--write]

| column | what is timed |
|---|---|
| ours | `trace` with every size symbolic, the graph as a function that runs, and the guards with their evidence |
| fake | `make_fx(tracing_mode="fake")`: every size a number; parameters are passed in, which is faster for torch |
| symbolic | `make_fx(tracing_mode="symbolic")` |
| engine | the part of our time inside `solver/` and `shapes/`: numbers, questions, guards, source locations |
| rules | the part inside `shapes/rules/`, the sizes of operators |

Both parts are samples of the stack, about `SAMPLES` of them: a sample belongs to the innermost function of the project,
with whatever it has called of Python, torch and the compiled solver.

The tracers are interleaved, model by model, `--rounds` times, in one process and one thread; each has traced the model
once before. Milliseconds of CPU time, medians.
"""

from __future__ import annotations

import argparse
import gc
import logging
import math
import os
import signal
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from benchmarks import report

if TYPE_CHECKING:
    import torch

CONTESTED = ("gpt2", "t5", "bert", "llama", "vit", "resnet", "unet")
PROJECT = str(Path(__file__).resolve().parents[1]) + os.sep
INSTALLED = f"{os.sep}site-packages{os.sep}"
ENGINE = ("solver", "shapes")
RULES = os.path.join("shapes", "rules")
SAMPLES_EVERY = 0.0003
SAMPLES = 4000
Contestant = Callable[[], object]
Tensors = Mapping[str, "torch.Tensor"]


def contestants(name: str) -> dict[str, Contestant]:
    """Ours and torch's, for one model at the first of its sizes."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    from backends import eager
    from benchmarks.models import MODELS, step
    from benchmarks.models.model import loss_of
    from frontends.pytorch import trace

    torch.manual_seed(0)
    model = MODELS[name]
    module = model.build()
    program = step(module)
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    inputs = model.inputs(*model.sizes[0])
    tensors = {key: value for key, value in inputs.items() if isinstance(value, torch.Tensor)}
    others = {key: value for key, value in inputs.items() if key not in tensors}

    def functional(parameters: Tensors, buffers: Tensors, tensors: Tensors) -> object:
        fresh = {key: value.detach().requires_grad_() for key, value in parameters.items()}
        loss = loss_of(torch.func.functional_call(module, {**fresh, **buffers}, (), {**tensors, **others}))
        return loss, torch.autograd.grad(loss, list(fresh.values()), allow_unused=True)

    def ours() -> object:
        variant = trace(program, (), inputs)
        return eager.runner(variant.graph), variant.guards

    def make(mode: str) -> Contestant:
        def traced() -> object:
            before = torch.compiler._is_compiling_flag
            torch.compiler._is_compiling_flag = True
            try:
                return make_fx(functional, tracing_mode=mode)(parameters, buffers, tensors)
            finally:
                torch.compiler._is_compiling_flag = before

        return traced

    return {"ours": ours, "fake": make("fake"), "symbolic": make("symbolic")}


def milliseconds(call: Contestant) -> float:
    gc.collect()
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1000


@contextmanager
def sampled(places: Counter[str]) -> Iterator[None]:
    """Count where the program is, at even distances of time: in the project's innermost frame of all.

    The clock of the wall is the one that ticks often enough: that of the processor does some 250 times a second.
    """

    def look(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(PROJECT) and INSTALLED not in file:
                places[file.removeprefix(PROJECT).rpartition(os.sep)[0]] += 1
                return
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, SAMPLES_EVERY, SAMPLES_EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def engine_share(call: Contestant) -> tuple[float, float]:
    """The part of the time inside the engine, and inside the rules of operators."""
    places: Counter[str] = Counter()
    with sampled(places):
        while places.total() < SAMPLES:
            call()
    total = places.total()
    rules = sum([count for place, count in places.items() if place.startswith(RULES)])
    engine = sum([count for place, count in places.items() if place.startswith(ENGINE)]) - rules
    return engine / total, rules / total


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(one) for one in ratios) / len(ratios))


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    rows: list[list[report.Cell]] = []
    ratios: list[float] = []
    for name in options.models or CONTESTED:
        contest = contestants(name)
        spent: dict[str, list[float]] = {"ours": [], "fake": [], "symbolic": []}
        for key in ("ours", "fake"):
            contest[key]()
        for _ in range(options.rounds):
            for key in ("ours", "fake"):
                spent[key].append(milliseconds(contest[key]))
        for _ in range(options.symbolic):
            spent["symbolic"].append(milliseconds(contest["symbolic"]))
        medians = {key: statistics.median(found) if found else math.nan for key, found in spent.items()}
        engine, rules = engine_share(contest["ours"])
        ratios.append(medians["ours"] / medians["fake"])
        rows.append([
            name, medians["ours"], medians["fake"], medians["symbolic"], report.ratio(medians["ours"], medians["fake"]),
            f"{100 * engine:.0f} %", f"{100 * rules:.0f} %",
        ])  # fmt: skip
    table = report.table(["model", "ours", "fake", "symbolic", "ours of fake", "engine", "rules"], rows)
    told = f"Geometric mean of ours of fake: x{mean(ratios):.2f}, the largest x{max(ratios):.2f}."
    return f"{table}\n\n{told} {report.versions('torch', 'transformers')}."


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--symbolic", type=int, default=1, help="rounds of torch's symbolic mode, which is slow")
    parser.add_argument("models", nargs="*", help="by default those that are compared")
    report.publish("tracing", "Tracing forward and backward", measure, parser)


if __name__ == "__main__":
    main()
