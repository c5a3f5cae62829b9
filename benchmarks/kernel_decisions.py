"""What each kind of decision about kernels is worth: programs compiled with its facts withheld.

    python -m benchmarks.kernel_decisions [--models gpt2,t5] [--rounds 9] [--write]

"withheld" are the questions that the engine was not asked, so that they took the general path; the last row withholds
all, as with an engine that always gives up. The programs are the ten functions of `benchmarks.kernels`, forward, at
their first size, and training steps of models at a middle size. All forms run in turn, medians of processor time,
one thread; "calls" are operators that are no kernels, and "peak" is of all programs together where they were traced.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.compiled_models import models, program, step
from benchmarks.kernels.programs import PROGRAMS

if TYPE_CHECKING:
    from backends.host import Host
    from frontends.pytorch.calls.compiled import Compiled

LEAST = 5e-3
MIDDLE = 3
"""Which of a model's sizes."""


@dataclass
class Contest:
    """One program with nothing, each kind, and everything withheld."""

    forms: dict[str, Compiled]
    runs: dict[str, Callable[[], object]]

    def milliseconds(self, rounds: int) -> dict[str, float]:
        times: dict[str, list[float]] = {what: [] for what in self.runs}
        for _ in range(rounds):
            for what, run in self.runs.items():
                count, began = 0, time.process_time()
                while (spent := time.process_time() - began) < LEAST:
                    run()
                    count += 1
                times[what].append(spent / count * 1e3)
        return {what: statistics.median(each) for what, each in times.items()}


def contests(names: list[str]) -> Iterator[Contest]:
    """The functions, and the models of these names."""
    from backends.decisions import KINDS
    from frontends.pytorch import Policy, compile

    kinds = {"nothing": frozenset(), **{kind: frozenset([kind]) for kind in sorted(KINDS)}, "everything": KINDS}

    def forms(function: Callable[..., object]) -> dict[str, Compiled]:
        return {
            what: compile(function, backend="cpu", dynamic=True, policy=Policy(withheld=each))
            for what, each in kinds.items()
        }

    for each in PROGRAMS:
        tensors = next(each.inputs())
        made = forms(each.function)
        yield Contest(made, {what: (lambda form=form, tensors=tensors: form(*tensors)) for what, form in made.items()})
    for name in names:
        model = models()[name]
        module, function = program(model)
        made = forms(function)
        steps = {what: step(module, form, True) for what, form in made.items()}
        inputs = [model.inputs(*model.sizes[place]) for place in (0, MIDDLE)]
        for run in steps.values():
            run(inputs[0])
        yield Contest(made, {what: (lambda run=run, given=inputs[1]: run(given)) for what, run in steps.items()})


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    ratios: dict[str, list[float]] = {}
    shapes: dict[str, Counter[str]] = {}
    asked: Counter[str] = Counter()
    for contest in contests(options.models.split(",") if options.models else []):
        for run in contest.runs.values():
            run()
        times = contest.milliseconds(options.rounds)
        asked.update([each.kind for host in hosts(contest.forms["nothing"]) for each in host.program.decisions.log])
        for what, form in contest.forms.items():
            ratios.setdefault(what, []).append(times[what] / times["nothing"])
            shapes.setdefault(what, Counter()).update(shape(form))
    asked["everything"] = asked.total()
    rows: list[list[report.Cell]] = []
    for what, each in ratios.items():
        if asked[what] or what == "nothing":
            counted = [shapes[what][name] for name in ("kernels", "calls", "peak")]
            rows.append([what, asked[what], *counted, math.exp(statistics.fmean(map(math.log, each))), max(each)])
    header = ["withheld", "questions", "kernels", "calls", "peak, bytes", "time, of nothing withheld", "worst"]
    return f"{report.table(header, rows)}\n\n{report.versions('torch', 'transformers')}."


def hosts(form: Compiled) -> list[Host]:
    return [host for variant in form.variants for host in variant.running.hosts]


def shape(form: Compiled) -> dict[str, int]:
    """Kernels, calls of operators, and bytes at the peak where it was traced."""
    from backends.loops.kernels import Kernel
    from backends.loops.program import Call

    steps = [step for host in hosts(form) for step in host.steps]
    most = 0
    for host in hosts(form):
        hints = host.program.decisions.hints
        place = host.memory.peak(hints)
        most += 0 if place is None else host.memory.bytes(place).evaluate(hints)
    kernels, calls = [sum(isinstance(each, kind) for each in steps) for kind in (Kernel, Call)]
    return {"kernels": kernels, "calls": calls, "peak": most}


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--models", default="gpt2,t5")
    report.publish("kernel_decisions", "What decisions about kernels are worth", measure, parser)


if __name__ == "__main__":
    main()
