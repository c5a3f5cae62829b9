"""Kernels of ten small functions, alone and with their backwards, against Inductor's, dynamic and static.

    python -m benchmarks.kernels [--threads 1] [--rounds 9] [--only softmax] [--chains 50] [--write]

Each function runs at six sizes. Ours is compiled once, with all sizes symbolic, Inductor once dynamic and once for each
size; "ours constant" is our own with every size a number. All are interleaved on the same arguments, kernels only (see
`benchmarks.kernels.forms`); a figure is the median of the rounds, each long enough to be measured, of processor time
with one thread and of wall time with more. Results are compared with eager torch before anything is measured. First
calls compile, with empty caches but for Inductor's precompiled header.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence

from benchmarks import report
from benchmarks.clocks import Clock, clock_for
from benchmarks.kernels.forms import Calls, Form, inductors, ours, replay
from benchmarks.kernels.programs import PROGRAMS, Program, chains

LEAST = 2e-3
"""Seconds of one measured stretch."""


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(options.threads)
    torch._inductor.config.force_disable_caches = True
    torch._inductor.config.compile_threads = 1
    clock = clock_for(options.threads)
    rows: list[list[report.Cell]] = []
    ratios: dict[str, list[float]] = {"dynamic": [], "static": [], "constant": []}
    compiling: dict[str, list[float]] = {}
    for program in chains(options.chains) if options.chains else PROGRAMS:
        if options.only and options.only not in program.name:
            continue
        for backward in (False,) if options.chains else (False, True):
            name = f"{program.name}, with backward" if backward else program.name
            found = list(timed(program, backward, options.rounds, compiling, clock))
            if not found:
                # a view: there is nothing to run
                continue
            if options.only:
                for size, micros in zip(program.sizes, found):
                    print(size, {name: round(each, 1) for name, each in micros.items()})
            by_baseline = {
                baseline: [micros["ours"] / micros[baseline] for micros in found]
                for baseline in ("dynamic", "static", "constant")
            }
            for baseline, each in by_baseline.items():
                ratios[baseline] += each
            rows.append([name, *[cell for each in by_baseline.values() for cell in (geometric(each), max(each))]])
    rows.append(["**all**", *[cell for each in ratios.values() for cell in (geometric(each), max(each))]])
    header = ["kernels", "/ dynamic", "worst", "/ static", "worst", "/ ours constant", "worst"]
    table = report.table(header, rows)
    seconds = {name: statistics.median(each) for name, each in compiling.items()}
    cost = report.table(["first call", "CPU seconds, median"], [[name, each] for name, each in seconds.items()])
    return f"{table}\n\n{cost}\n\n{report.versions('torch')}."


def geometric(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def timed(
    program: Program, backward: bool, rounds: int, compiling: dict[str, list[float]], clock: Clock
) -> Iterator[dict[str, float]]:
    """Microseconds of each form, for each size."""
    dynamic = inductors("dynamic", program.function, dynamic=True)
    symbolic = ours("ours", program.function, dynamic=True)
    for inputs in program.inputs():
        static = inductors("static", program.function, dynamic=False)
        constant = ours("constant", program.function, dynamic=False)
        forms = [symbolic, dynamic, static, constant]
        calls = {form.name: prepared(form, program, inputs, backward) for form in forms}
        if all(calls.values()):
            yield interleaved(calls, rounds, clock)
    for form in (symbolic, dynamic, static):
        compiling.setdefault(f"{form.name}{', with backward' if backward else ''}", []).append(form.seconds[0])


def prepared(form: Form, program: Program, inputs: Sequence[object], backward: bool) -> Calls:
    """The kernels of one call, after their results have been compared with torch's own."""
    import torch

    eager = Form("eager", program.function, program.function, form.recording)
    torch.manual_seed(0)
    found, calls = form.backward(inputs) if backward else form.forward(inputs)
    if not program.name.startswith("dropout"):
        expected, _ = eager.backward(inputs) if backward else eager.forward(inputs)
        torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3)
    return calls


def interleaved(calls: dict[str, Calls], rounds: int, clock: Clock) -> dict[str, float]:
    """The median time of each, all run in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    counts = {name: enough(each, clock) for name, each in calls.items()}
    for _ in range(rounds):
        for name, each in calls.items():
            times[name].append(stretch(lambda each=each: replay(each), counts[name], clock))
    return {name: statistics.median(each) for name, each in times.items()}


def enough(calls: Calls, clock: Clock) -> int:
    """Find a number of runs that takes long enough to measure."""
    count = 1
    while (spent := stretch(lambda: replay(calls), count, clock) * count / 1e6) < LEAST:
        count = max(count * 2, int(count * LEAST / max(spent, 1e-9)))
    return count


def stretch(function: Callable[[], None], count: int, clock: Clock) -> float:
    """Microseconds a call."""
    began = clock()
    for _ in range(count):
        function()
    return (clock() - began) / count * 1e6


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--chains", type=int, default=0, help="so many random chains instead of the ten functions")
    parser.add_argument("--only", default="", help="the functions whose name contains this")
    threads = parser.parse_known_args()[0].threads
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYMSHAPE_CACHE"] = folder
        chained = parser.parse_known_args()[0].chains > 0
        title = f"{'Random chains' if chained else 'Kernels'} against Inductor's, threads: {threads}"
        report.publish("kernels", title, measure, parser, f"{'chains' if chained else 'kernels'}, {threads}")


if __name__ == "__main__":
    main()
