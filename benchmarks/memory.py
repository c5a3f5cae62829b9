"""Resident memory of one environment that is asked a million distinct questions.

    python -m benchmarks.memory [--questions 1000000] [--baselines torch] [--write]

The questions are text, in five forms (linear, product, remainder, floor division, minimum) with a new number in each;
some follow, some are open. Memory is read at a tenth of the questions and at the end, each engine in a process of its
own; a baseline gets `--baseline-questions` of them.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import report
from benchmarks.baselines import load

SYMBOLS = (("b", 4), ("s", 128), ("t", 64), ("d", 32))
FACTS = ("s % 16 == 0", "t <= s", "d*t == b*512")


def questions(number: int) -> Iterator[str]:
    forms = (
        "b + {k}*s >= {k}",
        "{k}*b*s + t >= d",
        "({k}*s + 16) % 16 == 0",
        "(b + {k}) // 3 >= {k} // 3",
        "min(t + {k}, s) <= s",
        "s <= t + {k}",
    )
    for k in range(number):
        yield forms[k % len(forms)].format(k=k + 2)


def resident() -> float:
    """MiB that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(engine: str, number: int) -> dict[str, float]:
    baseline = load(engine)()
    for name, hint in SYMBOLS:
        baseline.symbol(name, hint, 2, None)
    for fact in FACTS:
        baseline.assume(fact)
    gc.collect()
    start, begin, early = resident(), time.perf_counter(), 0.0
    decided = 0
    for asked, prop in enumerate(questions(number), 1):
        decided += baseline.ask(prop).verdict is not None
        if asked == number // 10:
            gc.collect()
            early = resident()
    seconds = time.perf_counter() - begin
    gc.collect()
    return {"start": start, "early": early, "late": resident(), "seconds": seconds, "decided": decided}


def run(options: argparse.Namespace) -> str:
    rows: list[list[report.Cell]] = []
    for engine in ["symshape", *filter(None, options.baselines.split(","))]:
        number = options.questions if engine == "symshape" else options.baseline_questions
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", "--engine", engine, "--questions", str(number)],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            rows.append([engine, number, *[None] * 5, f"not here: {reason}"])
            continue
        m = json.loads(done.stdout.splitlines()[-1])
        start, early, late = m["start"], m["early"], m["late"]
        grown = (late - early) * 2**20 / (0.9 * number)
        micros = 1e6 * m["seconds"] / number
        rows.append([engine, number, start, early, late, f"{late / early:.2f}", grown, f"{micros:.0f}"])
    mib = ["MiB before", "MiB at a tenth", "MiB at the end"]
    return report.table(["engine", "questions", *mib, "end / tenth", "bytes a question", "µs a question"], rows)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--questions", type=int, default=1_000_000)
    parser.add_argument("--baseline-questions", type=int, default=20_000)
    parser.add_argument("--baselines", default="torch,z3,tvm")
    parser.add_argument("--engine", help="measure one in this process and print JSON")
    options = parser.parse_args()
    if options.engine:
        print(json.dumps(measure(options.engine, options.questions)))
    else:
        report.publish("memory", "Memory", run, parser)


if __name__ == "__main__":
    main()
