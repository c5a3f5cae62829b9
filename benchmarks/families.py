"""Families of questions with a growing number of parts (`benchmarks.question_families`): decided, time, growth.

    python -m benchmarks.families [--baselines z3] [--seconds 20] [--write] [NAMES...]

Each case is asked in a fresh environment, three times; the time is the least of the question alone, in milliseconds of
the processor, that of the facts stands beside it. The growth is the factor between the times at the last two numbers of
parts, over that between these numbers, where the later takes more than 2 ms: 1 is linear. A baseline has the same lines
once, and as long for a question as its adapter allows (z3: 100 ms for each of two checks).
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import report
from benchmarks.baselines import load
from benchmarks.baselines.worker import TINY, Line, replay
from benchmarks.question_families import FAMILIES, Case, Family

OURS = "symshape --no-solver"
RUNS = 3
SHORT = 2.0
"""Milliseconds below which no growth is told."""
LONG = 50.0
"""Milliseconds that a question should take at most."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The answer to a case, and the milliseconds of its facts and of its question."""

    verdict: str | None
    facts: float
    question: float


def lines_of(case: Case) -> list[Line]:
    sizes: list[Line] = [{"op": "symbol", "name": s.name, "hint": None, "lo": s.lo, "hi": s.hi} for s in case.sizes]
    facts: list[Line] = [{"op": "assume", "prop": fact} for fact in case.facts]
    return [*sizes, *facts, {"op": "ask", "prop": case.question}]


def measured(engine: str, case: Case, seconds: float) -> Cost | None:
    """The least cost of several runs; None for an engine that did not come to the question."""
    lines = lines_of(case)
    costs = []
    for _ in range(RUNS if engine == OURS else 1):
        gc.collect()
        result = replay(load(engine), lines, seconds, clock=time.process_time_ns)
        if len(result["micros"]) < len(lines):
            return None
        told, asked = sum(result["micros"][:-1]) / 1000, result["micros"][-1] / 1000
        costs.append(Cost(result["answers"][0][0], told, asked))
    return min(costs, key=lambda cost: cost.question)


def growth(parts: Sequence[int], costs: Sequence[Cost | None]) -> float | None:
    """The factor between the last two times, over that between their numbers of parts."""
    if len(costs) < 2:
        return None
    before, after = costs[-2:]
    if before is None or after is None or after.question < SHORT:
        return None
    return after.question / before.question / (parts[-1] / parts[-2])


def row_of(engines: Sequence[str], family: Family, seconds: float) -> tuple[list[report.Cell], int, int]:
    cases = [family.case(n) for n in family.parts]
    row: list[report.Cell] = [family.name, ", ".join([str(n) for n in family.parts])]
    decided = 0
    for engine in engines:
        costs = [measured(engine, case, seconds) for case in cases]
        right = [cost is not None and cost.verdict == case.truth for cost, case in zip(costs, cases, strict=True)]
        longest = max([cost.question for cost in costs if cost is not None], default=None)
        row += [f"{sum(right)} of {len(cases)}", longest]
        if engine == OURS:
            decided = sum(right)
            row += [growth(family.parts, costs), max([cost.facts for cost in costs if cost is not None], default=None)]
    return row, decided, len(cases)


def run(options: argparse.Namespace) -> str:
    sys.set_int_max_str_digits(0)
    engines, missing = [OURS], []
    for name in filter(None, options.baselines.split(",")):
        try:
            replay(load(name), TINY, options.seconds)
            engines.append(name)
        except ImportError as error:
            missing.append(f"{name} is not here: {error}")
    replay(load(OURS), TINY, options.seconds)
    rows: list[list[report.Cell]] = []
    decided = asked = 0
    for name in options.names or FAMILIES:
        measured(OURS, FAMILIES[name].case(FAMILIES[name].parts[0]), options.seconds)  # what is loaded on demand
        row, right, count = row_of(engines, FAMILIES[name], options.seconds)
        rows.append(row)
        decided, asked = decided + right, asked + count
    header = ["family", "parts", "decided", "longest question, ms", "growth", "facts, ms"]
    for name in engines[1:]:
        header += [f"{name}: decided", "longest question, ms"]
    late = sum([isinstance(row[3], float) and row[3] > LONG for row in rows])
    note = f"{decided} of {asked} questions decided rightly; families with a question above {LONG:.0f} ms: {late}."
    return "\n\n".join([report.table(header, rows), note, *missing])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="families; all where none is named")
    parser.add_argument("--baselines", default="z3")
    parser.add_argument("--seconds", type=float, default=20, help="for one engine and one case")
    report.publish("families", "Families of questions", run, parser)


if __name__ == "__main__":
    main()
