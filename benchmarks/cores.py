"""Minimal cores: of recorded questions, each core tried with each of its facts withheld.

    python -m benchmarks.cores [--sample 2000] [--solvers] [--write] [FILES...]

A core of two facts or more is irredundant when the question is no longer decided once any one of them is withheld. The
engine itself answers, in a fresh environment that has only the others, with the default effort; with `--solvers`
thoroughly, including z3 and sympy, which minimization does not use. The sessions are drawn at random from FILES, the
recorded corpus by default, until there are so many cores.
"""

import argparse
import random
from collections import Counter
from pathlib import Path

from benchmarks import report
from benchmarks.evidence import cores, percent
from benchmarks.recorded import corpus_files
from shapes.sessions.recording import open_recording, read_sessions


def run(options: argparse.Namespace) -> str:
    sessions = []
    for path in options.files or corpus_files():
        with open_recording(path) as file:
            sessions += list(read_sessions(file))
    random.Random(7).shuffle(sessions)
    count: Counter[str] = Counter()
    sizes: list[int] = []
    redundant: list[str] = []
    looked_at = 0
    for session in sessions:
        if count["cores"] >= options.sample:
            break
        looked_at += 1
        cores(session, count, sizes, redundant, solvers=options.solvers, least=2)
    rows: list[list[report.Cell]] = [
        ["sessions", f"{looked_at:,} of {len(sessions):,}"],
        ["cores of two facts or more that suffice by themselves", percent(count["sufficient"], count["cores"])],
        ["from which no fact can be left out", percent(count["irredundant"], count["cores"])],
        ["facts in them, mean and largest", f"{sum(sizes) / len(sizes):.1f}, {max(sizes)}" if sizes else "-"],
    ]
    parts = [report.table(["cores", "figure"], rows)]
    if redundant:
        listed = "\n".join(f"- {line}" for line in redundant)
        parts.append(f"Facts that can be left out, in brackets:\n\n{listed}")
    return "\n\n".join(parts)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, default=2000, help="how many cores to look at")
    parser.add_argument("--solvers", action="store_true", help="ask z3 and sympy too")
    report.publish("cores", "Minimal cores", run, parser)


if __name__ == "__main__":
    main()
