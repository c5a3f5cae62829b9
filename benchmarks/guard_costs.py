"""Calibrate the cost model of guards: what a fact about sizes saves at run time, and what one more variant costs.

    python -m benchmarks.guard_costs [--rounds 9] [--write]

For each kind of decision that changes the code on a CPU, a program is compiled without the fact and with it, for loops
of several lengths, and both run interleaved: "saved" is the difference in processor time per iteration, the lower
quartile of the rounds, so that noise saves nothing. The cost of a variant is fitted to first calls, with empty caches,
of the ten functions of `benchmarks.kernels` and of models, forward and backward: a constant, and seconds per kernel and
per call of an operator. With `--write` the figures become backends/decisions/costs.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import report

if TYPE_CHECKING:
    import torch

    from backends.loops.program import Program
    from solver.terms.expr import Expr

ELEMENTS = 1 << 16
LEAST = 2e-3
"""Seconds of one measured stretch."""
LENGTHS = (4, 8, 16, 24, 32, 48, 56, 64, 96, 128, 256, 768, 4096)
WHOLE = tuple([length for length in LENGTHS if length % 16 == 0])


@dataclass(frozen=True)
class Case:
    """A program that a fact makes faster.

    Attributes:
        fact: in terms of the sizes; `{length}` is the length of the loop.
        passes: the trip count of the loop for each row.
        write: writes the program for sizes a, b, c.
        inputs: the tensors for so many rows of a length.
        rows: the number of rows; as many as make `ELEMENTS`, if not given.
        is_each: True if it saves time for each element, False for each row; None for once a call.
    """

    kind: str
    fact: str
    passes: int
    write: Callable[[Program, Expr, Expr, Expr], None]
    inputs: Callable[[int, int], tuple[torch.Tensor, ...]]
    lengths: tuple[int, ...] = LENGTHS
    rows: int = 0
    is_each: bool | None = False


def softmax(program: Program, a: Expr, b: Expr, c: Expr) -> None:
    build = program.build
    x = program.input("x", "float32", (a, b), (b, build.one))
    largest = build.expand(build.reduce("maximum", x, (1,), keepdim=True), x.sizes)
    powers = build.apply("exp", build.apply("sub", x, largest))
    total = build.expand(build.reduce("sum", powers, (1,), keepdim=True), x.sizes)
    program.outputs.append(program.stored(build.apply("div", powers, total), (b, build.one)))


def normalized(program: Program, a: Expr, b: Expr, c: Expr) -> None:
    build = program.build
    x = program.input("x", "float32", (a, b), (b, build.one))
    total = build.expand(build.reduce("sum", build.apply("mul", x, x), (1,), keepdim=True), x.sizes)
    scaled = build.apply("mul", x, build.apply("rsqrt", total))
    program.outputs.append(program.stored(scaled, (b, build.one)))


def apart(program: Program, a: Expr, b: Expr, c: Expr) -> None:
    """Rows with the stride of c's."""
    build = program.build
    x = program.input("x", "float32", (a, b), (c, build.one))
    program.outputs.append(program.stored(build.apply("mul", x, x), (c, build.one)))


def strided(program: Program, a: Expr, b: Expr, c: Expr) -> None:
    """Elements with the stride of c's."""
    build = program.build
    x = program.input("x", "float32", (b,), (c,))
    program.outputs.append(program.stored(build.apply("mul", x, x), (build.one,)))


def seen_otherwise(program: Program, a: Expr, b: Expr, c: Expr) -> None:
    """View memory that has `a` rows as one with `c` rows."""
    build = program.build
    x = program.input("x", "float32", (a, b), (b, build.one))
    first = program.stored(build.apply("mul", x, x), (b, build.one))
    seen = build.view(first, (c, b), build.axes(2))
    program.outputs.append(program.stored(build.apply("add", seen, seen), (b, build.one)))


def in_place(program: Program, a: Expr, b: Expr, c: Expr) -> None:
    """A buffer of c columns where one of b columns was."""
    import torch

    from backends.loops.program import Call

    build = program.build
    x = program.input("x", "float32", (a, b), (b, build.one))
    first = program.stored(build.apply("mul", x, x), (b, build.one))
    short = program.buffer("float32", (a, c), (c, build.one))
    program.steps.append(Call(torch.relu, (first,), {}, (short,)))
    second = program.stored(build.apply("neg", build.memory(short)), (c, build.one))
    last = program.buffer("float32", (), ())
    program.steps.append(Call(torch.sum, (second,), {}, (last,), has_layout=True))
    program.outputs.append(build.memory(last))


def cases() -> Iterator[Case]:
    import torch

    def plain(rows: int, length: int) -> tuple[torch.Tensor, ...]:
        return (torch.randn(rows, length),)

    def line(rows: int, length: int) -> tuple[torch.Tensor, ...]:
        return (torch.randn(length),)

    yield Case("constant", "b == {length}", 3, softmax, plain)
    yield Case("constant", "b == {length}", 2, normalized, plain)
    yield Case("divisible", "b % 16 == 0", 3, softmax, plain, WHOLE)
    yield Case("divisible", "b % 16 == 0", 1, apart, plain, WHOLE)
    yield Case("size one", "b == 1", 1, apart, plain, (1,))
    yield Case("collapse", "c == b", 1, apart, plain)
    yield Case("equal", "c == a", 1, seen_otherwise, plain, (256,), is_each=True)
    yield Case("stride one", "c == 1", 1, strided, line, (256,), is_each=None)
    yield Case("reuse", "c <= b", 4, in_place, plain, (1024,), rows=1024, is_each=True)


def function(case: Case, length: int, rows: int, *, known: bool) -> Callable[[tuple[torch.Tensor, ...]], object]:
    """The program without the fact, or with it."""
    from backends import cpu
    from backends.decisions.questions import Decisions
    from backends.loops.program import Program
    from backends.program.host import Host, hosted
    from shapes import ShapeEnv

    env = ShapeEnv(origin=lambda: None)
    third = {"collapse": length, "divisible": length, "size one": 1, "equal": rows, "stride one": 1, "reuse": length}
    hints = (rows, length, third.get(case.kind, 1))
    a, b, c = [size.expr for size in env.sizes("a b c", hints=hints, lo=1)]
    if known:
        env.assume(case.fact.format(length=length))
    program = Program(Decisions(env))
    program.numbers.extend([size.atom for size in (a, b, c)])
    case.write(program, a, b, c)
    host = hosted(program, cpu)
    assert isinstance(host, Host), host
    return lambda inputs: host.function((*inputs, *hints))


def saved(case: Case, length: int, rounds: int) -> tuple[float, float]:
    """Nanoseconds that the fact saves in a turn, and of how many."""
    import torch

    from benchmarks.kernels.__main__ import enough, stretch

    rows = case.rows or max(ELEMENTS // length, 1)
    inputs = case.inputs(rows, length)
    forms = {name: function(case, length, rows, known=name == "known") for name in ("open", "known")}
    torch.testing.assert_close(forms["known"](inputs), forms["open"](inputs))
    clock = time.process_time
    count = enough([(forms["open"], (inputs,), {})], clock)
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, form in forms.items():
            times[name].append(stretch(lambda form=form: form(inputs), count, clock))
    turns = 1 if case.is_each is None else rows * case.passes * (length if case.is_each else 1)
    gains = [without - known for without, known in zip(times["open"], times["known"])]
    return statistics.quantiles(gains, n=4)[0] * 1e3 / turns, statistics.median(times["open"]) * 1e3 / turns


def first_calls() -> Iterator[tuple[int, int, float]]:
    """Kernels, calls of operators and seconds of first calls."""
    import torch

    from backends.loops.kernels import Kernel
    from backends.loops.program import Call
    from benchmarks.compiled_models import models, program, spent
    from benchmarks.kernels.programs import PROGRAMS
    from frontends.pytorch import compile

    def measured(function: Callable[..., torch.Tensor], *args: object, **kwargs: object) -> tuple[int, int, float]:
        compiled = compile(function, backend="cpu", dynamic=True)
        began = spent()
        compiled(*args, **kwargs)
        seconds = spent() - began
        steps = [step for variant in compiled.variants for host in variant.running.hosts for step in host.steps]
        kernels, calls = [sum(isinstance(step, kind) for step in steps) for kind in (Kernel, Call)]
        return kernels, calls, seconds

    compile(lambda x: x.sum(), backend="cpu", dynamic=True)(torch.randn(3))
    for each in PROGRAMS:
        inputs = next(each.inputs())
        yield measured(each.function, *inputs)
        yield measured(
            lambda *args, function=each.function: function(*args),
            *[x.detach().requires_grad_(x.is_floating_point()) for x in inputs],
        )
    for name in ("gpt2", "t5"):
        model = models()[name]
        _, loss = program(model)
        yield measured(loss, **model.inputs(*model.sizes[0]))


def fitted(found: list[tuple[int, int, float]]) -> dict[str, float]:
    """Seconds for a variant itself, each kernel and each call, none less than nothing."""
    import torch

    names = ["itself", "kernel", "call"]
    rows = torch.tensor([[1, kernels, calls] for kernels, calls, _ in found], dtype=torch.float64)
    seconds = torch.tensor([each[2] for each in found], dtype=torch.float64)
    while True:
        weights = seconds[:, None] ** -0.5
        columns = rows[:, [("itself", "kernel", "call").index(name) for name in names]] * weights
        result = torch.linalg.lstsq(columns, seconds[:, None] * weights).solution[:, 0].tolist()
        if min(result) > 0:
            return {"itself": 1e-6, "kernel": 1e-6, "call": 1e-6} | dict(zip(names, result))
        names.pop(result.index(min(result)))


def kept(gains: list[float]) -> float:
    """The mean gain of several programs, rounded to three digits and at least zero."""
    return max(float(f"{statistics.fmean(gains):.3g}"), 0.0)


def measure(options: argparse.Namespace) -> str:
    import torch

    from backends.decisions.costs import MEASURED

    torch.set_num_threads(1)
    by_kind: dict[str, dict[int, list[float]]] = {}
    rows: list[list[report.Cell]] = []
    for case in cases():
        name = f"{case.kind}: {case.write.__name__}"
        for length in case.lengths:
            gain, whole = saved(case, length, options.rounds)
            # what is saved for each element, or once a call, is so for all lengths
            at = length if case.is_each is False else 1
            by_kind.setdefault(case.kind, {}).setdefault(at, []).append(gain)
            rows.append([name, length, whole, gain, gain / whole])
    found = list(first_calls())
    variant = fitted(found)
    figures = {
        "measured": f"{report.machine()}; {report.versions('torch')}; python -m benchmarks.guard_costs",
        "variant": {name: float(f"{seconds:.3g}") for name, seconds in variant.items()},
        "saved": {
            kind: {str(length): kept(gains) for length, gains in sorted(lengths.items())}
            for kind, lengths in by_kind.items()
        },
    }
    if options.write:
        MEASURED.write_text(json.dumps({"cpu": figures}, indent=2) + "\n")
    header = ["fact", "length", "ns a turn without", "saved, ns", "share"]
    cost = [[name, seconds] for name, seconds in variant.items()]
    errors = [abs(sum(n * s for n, s in zip((1, *each[:2]), variant.values())) / each[2] - 1) for each in found]
    return "\n\n".join(
        [
            report.table(header, rows),
            report.table(["one more variant", "CPU seconds"], cost),
            f"The fit is off by {100 * statistics.median(errors):.0f} % in the median of {len(found)} first calls.",
            f"{report.versions('torch', 'transformers')}.",
        ]
    )


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYMSHAPE_CACHE"] = folder
        report.publish("guard_costs", "Benefit of facts and cost of variants", measure, parser)


if __name__ == "__main__":
    main()
