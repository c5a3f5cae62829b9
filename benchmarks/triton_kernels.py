"""Our Triton kernels: statistics of their code, and times on a GPU against Inductor's.

    python -m benchmarks.triton_kernels [--write] [words of names]

    >>> from benchmarks.triton_kernels import larger
    >>> larger((8, 128, 768))
    (128, 128, 768)

The functions of `benchmarks.kernels`, with sixteen times as many rows, forward and backward. Each is compiled once with
all sizes dynamic, by us and by `torch.compile(dynamic=True)`; eager runs beside them. The time of the device is the
median of calls with a cold cache, taken in turn; the time of the host is that of asynchronous calls at the smallest
size. Without a GPU there are no times, and the table describes the code for sm_90: at the first of the sizes and, with
odd sizes, at the last.

| column | what it says |
|---|---|
| registers, spilled | registers per thread, and bytes spilled to local memory |
| wide, narrow | loads and stores of 16 bytes at once, and of fewer, in the text of the kernel |
| predicated | how many of both are predicated |
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean, median

import torch

from backends.triton.launching import Step
from benchmarks.kernels.compiled import kernels_of, read
from benchmarks.kernels.programs import PROGRAMS, Program
from benchmarks.report import Cell, arguments, publish, table, versions

ROUNDS = 25
FLUSHED = 256 * 2**20
"""Bytes that are written between two calls: more than the caches hold."""
TOLERANCE = 2e-3
Call = Callable[[], object]


def larger(size: Sequence[int]) -> tuple[int, ...]:
    """Enough rows to keep a device busy."""
    return (16 * size[0], *size[1:])


def device_times(calls: Sequence[Call], flushed: torch.Tensor) -> list[float]:
    """Microseconds of each on the device, in turn, with a cold cache."""
    events: list[list[tuple[torch.cuda.Event, torch.cuda.Event]]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, events):
            flushed.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            found.append((start, end))
    torch.cuda.synchronize()
    return [1000 * median([start.elapsed_time(end) for start, end in found]) for found in events]


def host_time(call: Call, count: int = 50) -> float:
    """Microseconds of a call that does not wait for the device."""
    found = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - start) / count * 1e6)
    torch.cuda.synchronize()
    return median(found)


def contestants(program: Program) -> list[Callable[..., torch.Tensor]]:
    """Ours, Inductor's, and the function itself."""
    from frontends.pytorch import compile

    torch._dynamo.reset()
    # a backward is timed many times
    torch._functorch.config.donated_buffer = False
    ours = compile(program.function, backend="triton", dynamic=True)
    return [ours, torch.compile(program.function, dynamic=True), program.function]


def calls_of(functions: Sequence[Callable[..., torch.Tensor]], inputs: Sequence[torch.Tensor]) -> Iterator[list[Call]]:
    """Forward and backward of each, after their results have been compared."""
    yield [partial(function, *inputs) for function in functions]
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    made = [function(*leaves) for function in functions]
    gradient = torch.ones_like(made[-1])
    yield [partial(torch.autograd.grad, each, wanted, gradient, retain_graph=True) for each in made]


def compared(program: Program, calls: Sequence[Call]) -> None:
    """Run each once, and see that all give the same, as far as nothing is random."""
    found = [call() for call in calls]
    if "dropout" not in program.name:
        for each in found[:-1]:
            torch.testing.assert_close(each, found[-1], rtol=TOLERANCE, atol=TOLERANCE)


def measured(wanted: Sequence[str]) -> Iterator[str]:
    """A line for each function, direction and size, then the geometric means."""
    flushed = torch.empty(FLUSHED, dtype=torch.int8, device="cuda")
    ratios: dict[str, list[float]] = {}
    for program in PROGRAMS:
        if wanted and not any(word in program.name for word in wanted):
            continue
        functions = contestants(program)
        for size in program.sizes:
            inputs = [each.cuda() for each in program.make(*larger(size))]
            for direction, calls in zip(("", ", backward"), calls_of(functions, inputs)):
                compared(program, calls)
                times = device_times(calls, flushed)
                ratios.setdefault(program.name + direction, []).append(times[0] / times[1])
                cells = [f"{each:.1f}" for each in times]
                name = program.name + direction
                yield " | ".join([name, "x".join(map(str, larger(size))), *cells, f"{times[0] / times[1]:.2f}"])
        small = [each.cuda() for each in program.make(*min(program.sizes, key=math.prod))]
        hosts = [f"{host_time(partial(function, *small)):.1f}" for function in functions]
        yield f"{program.name}: host us {', '.join(hosts)}"
    for name, found in ratios.items():
        yield f"{name}: {geometric(found):.2f}, worst {max(found):.2f}"
    yield f"all: {geometric([ratio for found in ratios.values() for ratio in found]):.3f}"


def of_device(lines: Sequence[str]) -> str:
    """The table of what was measured on a GPU, then the other lines."""
    columns = ("function", "size", "ours us", "Inductor dynamic us", "eager us", "ours / Inductor")
    rows: list[list[Cell]] = [[*line.split(" | ")] for line in lines if " | " in line]
    rest = [f"- {line}" for line in lines if " | " not in line]
    return table(columns, rows) + "\n\n" + "\n".join(rest)


def offline(wanted: Sequence[str]) -> str:
    """The table of what is seen without a GPU."""
    rows: list[list[Cell]] = []
    for program in PROGRAMS:
        if wanted and not any(word in program.name for word in wanted):
            continue
        for size in (program.sizes[0], program.sizes[-1]):
            for direction, kernels in kernels_of(program, size).items():
                for kernel in kernels:
                    name = f"{program.name}, {direction} {kernel.launch.kernel.name}"
                    rows += [[name, "x".join(map(str, size)), *cells(step)] for step in kernel.steps()]
    columns = ("grid", "tile", "registers", "spilled", "wide", "narrow", "predicated", "instructions")
    return table(["kernel", "size", *columns], rows)


def cells(step: Step) -> list[Cell]:
    """The table cells for one launch."""
    form, seen = step.aligned.form, read(step.aligned)
    tile = f"{form.rows}x{form.columns}{', looped' if form.is_looped else ''}"
    accesses = (seen.wide_accesses, seen.narrow_accesses, seen.predicated)
    return [step.grid, tile, seen.registers, seen.spilled, *accesses, seen.instructions]


def geometric(ratios: Sequence[float]) -> float:
    return math.exp(fmean(map(math.log, ratios)))


def measure(options: argparse.Namespace) -> str:
    if torch.cuda.is_available():
        lines = []
        for line in measured(options.words):
            print(line, file=sys.stderr, flush=True)
            lines.append(line)
        return f"{torch.cuda.get_device_name()}.\n\n{of_device(lines)}\n\n{versions('torch', 'triton')}."
    return f"No GPU was there: no times.\n\n{offline(options.words)}\n\n{versions('torch', 'triton')}."


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("words", nargs="*", help="only functions whose names contain one of these")
    title = "Kernels by Triton" + (" on a GPU" if torch.cuda.is_available() else "")
    section = "triton_kernels_on_a_gpu" if torch.cuda.is_available() else None
    publish("triton_kernels", title, measure, parser, section)


if __name__ == "__main__":
    main()
