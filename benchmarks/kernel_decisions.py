"""Ablation of decisions about kernels: programs compiled with the answers to one kind withheld.

    python -m benchmarks.kernel_decisions [--models gpt2,t5] [--rounds 9] [--write]

"withheld" counts the questions that the engine was not asked, which took the general path; the last row withholds all,
as with an engine that always answers unknown: it compares numbers, and a symbol with itself, but does not know that two
products or sums are equal, as that needs the normal form. The programs are the ten functions of `benchmarks.kernels`,
forward and with their backward, at three of their sizes, and training steps of models at a middle size. Results are
compared with those of nothing withheld. All forms are interleaved, medians of processor time, one thread; a time is the
geometric mean of the times by those of nothing withheld. "calls" are operators that are not kernels, and "peak" is of
all programs together where they were traced.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.compiled_models import models, program, step
from benchmarks.kernels.programs import PROGRAMS

if TYPE_CHECKING:
    import torch

    from backends.program.host import Host
    from frontends.pytorch.dynamo.compiled import Compiled

LEAST = 5e-3
MIDDLE = 3
"""The index of the sizes of a model."""
PLACES = (0, 3, 5)
"""The index of the sizes of a function."""
GROUPS = ("forward", "with backward", "models")


@dataclass
class Contest:
    """One program with nothing, each kind that is asked about it, and everything withheld.

    Attributes:
        runs: the call of each form, at one of the sizes.
        is_first: True at the first size.
    """

    group: str
    forms: dict[str, Compiled]
    runs: dict[str, Callable[[], object]]
    is_first: bool

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
    from backends.decisions.questions import KINDS
    from frontends.pytorch import Policy, compile

    def forms(function: Callable[..., object], first: Callable[[Compiled], object]) -> dict[str, Compiled]:
        """Each form, after its first call; kinds that are never asked make none."""
        made: dict[str, Compiled] = {}
        kinds = {"nothing": frozenset(), **{kind: frozenset([kind]) for kind in sorted(KINDS)}, "everything": KINDS}
        for what, withheld in kinds.items():
            if what in ("nothing", "everything") or what in asked(made["nothing"]):
                made[what] = compile(function, backend="cpu", dynamic=True, policy=Policy(withheld=withheld))
                first(made[what])
        return made

    for each in PROGRAMS:
        sizes = list(each.inputs())
        for group in GROUPS[:2]:
            run = trained if group == "with backward" else called
            made = forms(each.function, lambda form, run=run, given=sizes[0]: run(form, given))
            for place in PLACES:
                runs = {
                    what: (lambda form=form, run=run, given=sizes[place]: run(form, given))
                    for what, form in made.items()
                }
                yield Contest(group, made, runs, place == PLACES[0])
    for name in names:
        model = models()[name]
        module, function = program(model)
        inputs = [model.inputs(*model.sizes[place]) for place in (0, MIDDLE)]
        made = forms(function, lambda form, module=module, given=inputs[0]: step(module, form, True)(given))
        steps = {what: step(module, form, True) for what, form in made.items()}
        runs = {what: (lambda run=run, given=inputs[1]: run(given)) for what, run in steps.items()}
        yield Contest("models", made, runs, True)


def called(form: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor]) -> object:
    """The result, by a form."""
    import torch

    with torch.no_grad():
        return form(*inputs)


def trained(form: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor]) -> object:
    """The result and the gradients of what is floating, by a form."""
    import torch

    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    result = form(*leaves)
    return result, *torch.autograd.grad(result.sum(), [leaf for leaf in leaves if leaf.requires_grad])


def asked(form: Compiled) -> Counter[str]:
    """Count the questions of each kind."""
    return Counter([each.kind for host in hosts(form) for each in host.program.decisions.log])


def measure(options: argparse.Namespace) -> str:
    import torch

    from backends.decisions.questions import KINDS

    torch.set_num_threads(1)
    ratios: dict[str, dict[str, list[float]]] = {}
    shapes: dict[str, Counter[str]] = {}
    questions: Counter[str] = Counter()
    for contest in contests(options.models.split(",") if options.models else []):
        expected = None
        for run in contest.runs.values():
            torch.manual_seed(0)
            found = run()
            expected = found if expected is None else expected
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
        times = contest.milliseconds(options.rounds)
        plain = contest.forms["nothing"]
        kinds = asked(plain)
        if contest.is_first:
            questions.update(kinds)
        for what in ("nothing", *sorted(KINDS), "everything"):
            form = contest.forms.get(what, plain)
            found = times[what] / times["nothing"] if what in times else 1.0
            ratios.setdefault(what, {}).setdefault(contest.group, []).append(found)
            if contest.is_first:
                shapes.setdefault(what, Counter()).update(shape(form))
    questions["everything"] = questions.total()
    rows: list[list[report.Cell]] = []
    for what, by_group in ratios.items():
        if questions[what] or what == "nothing":
            counted = [shapes[what][name] for name in ("kernels", "calls", "peak")]
            cells = [cell for group in GROUPS for cell in summary(by_group.get(group, [math.nan]))]
            rows.append([what, questions[what], *counted, *cells])
    named = [cell for group in GROUPS for cell in (group, "worst")]
    header = ["withheld", "questions", "kernels", "calls", "peak, bytes", *named]
    return f"{report.table(header, rows)}\n\n{report.versions('torch', 'transformers')}."


def summary(ratios: Sequence[float]) -> tuple[float, float]:
    """The geometric mean and the worst."""
    return math.exp(statistics.fmean(map(math.log, ratios))), max(ratios)


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
    report.publish("kernel_decisions", "Ablation of kernel decisions", measure, parser)


if __name__ == "__main__":
    main()
