"""Find regressed ratios of RESULTS.md: rerun each benchmark by the command that its section names.

    python -m benchmarks.check --only symints,guards

>>> old = ratios("| case | symshape µs | torch µs | x ours |\\n|---|---:|---:|---|\\n| ask | 0.1 | 0.5 | x5.0 |")
>>> new = ratios("| case | symshape µs | torch µs | x ours |\\n|---|---:|---:|---|\\n| ask | 0.2 | 0.5 | x2.5 |")
>>> worse(old, [new, new], margin=0.2)
[Regression(cell=Cell(table=0, row='ask', column='x ours', occurrence=0), before=5.0, after=2.5)]

Times differ between machines, so only ratios of one run are compared: cells written `x1.5`, and columns whose header
names both operands. A ratio got worse where every fresh run is worse than the recorded one by more than the margin; the
spread of the runs is the noise.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.__main__ import ORDER
from benchmarks.report import RESULTS, table

SECTION: Final = re.compile(r"<!-- (?!end )(?P<name>.+?) -->\n(?P<body>.*?)<!-- end (?P=name) -->", re.DOTALL)
COMMAND: Final = re.compile(r"`python -m (benchmarks\.[^`]+)`")
FIGURE: Final = re.compile(r"(x?)([\d,]*\.?\d+(?:e-?\d+)?)")
RATIO: Final = re.compile(r"\bratio\b|^x ours$|^of |^/ | of eager$")
"""Headers of columns that hold ratios, written with `x` or without."""
HIGHER_IS_BETTER: Final = frozenset(("x ours",))
"""The others are ours divided by what they are compared with."""


class Cell(NamedTuple):
    """A figure by what stays the same from run to run. Columns may share a name: `occurrence` counts them."""

    table: int
    row: str
    column: str
    occurrence: int


class Regression(NamedTuple):
    cell: Cell
    before: float
    after: float
    """The median of the fresh runs."""


def ratios(text: str) -> dict[Cell, float]:
    """Every ratio in the tables of a Markdown text."""
    found = {}
    for number, (header, rows) in enumerate(tables(text)):
        for row in rows:
            seen: Counter[str] = Counter()
            for column, written in zip(header, row, strict=False):
                match = FIGURE.fullmatch(written)
                if match and (match[1] or RATIO.search(column)):
                    found[Cell(number, row[0], column, seen[column])] = float(match[2].replace(",", ""))
                seen[column] += 1
    return found


def tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The header and the rows of each table."""
    lines = [line.strip() for line in text.splitlines()]
    for at, line in enumerate(lines):
        if line.startswith(("|--", "|:-")):
            rows = []
            for row in lines[at + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(_cells(row))
            yield _cells(lines[at - 1]), rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def worse(recorded: Mapping[Cell, float], runs: Sequence[Mapping[Cell, float]], margin: float) -> list[Regression]:
    """Return the cells that are worse than recorded by more than the margin in every run that has the cell."""
    found = []
    for cell, before in recorded.items():
        fresh = [run[cell] for run in runs if cell in run]
        best = (max if cell.column in HIGHER_IS_BETTER else min)(fresh, default=before)
        lost = before > best * (1 + margin) if cell.column in HIGHER_IS_BETTER else best > before * (1 + margin)
        if lost:
            found.append(Regression(cell, before, median(fresh)))
    return found


def recorded_sections(path: Path = RESULTS) -> dict[str, tuple[list[str], str]]:
    """The sections that a command wrote: its module with its options, and the text."""
    found = {}
    for section in SECTION.finditer(path.read_text()):
        command = COMMAND.search(section["body"])
        if command:
            found[section["name"]] = shlex.split(command[1]), section["body"]
    return found


def run(command: Sequence[str]) -> str:
    """Run a benchmark and return its output.

    Raises:
        CalledProcessError: it failed.
    """
    arguments = [argument for argument in command if argument != "--write"]
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=RESULTS.parent.parent, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(ORDER), help="sections, with commas between")
    parser.add_argument("--runs", type=int, default=2, help="fresh runs of each benchmark")
    parser.add_argument("--margin", type=float, default=0.25, help="how much worse counts: 0.25 is a quarter")
    options = parser.parse_args()
    sections = recorded_sections()
    found: list[tuple[str, Regression]] = []
    failed = []
    for name in options.only.split(","):
        if name not in sections:
            continue
        command, body = sections[name]
        recorded = ratios(body)
        try:
            runs = [ratios(run(command)) for _ in range(options.runs)] if recorded else []
        except subprocess.CalledProcessError:
            failed.append(name)
            continue
        compared = sum(any(cell in fresh for fresh in runs) for cell in recorded)
        regressions = worse(recorded, runs, options.margin)
        found += [(name, regression) for regression in regressions]
        print(f"{name}: {compared} of {len(recorded)} ratios compared, {len(regressions)} worse", flush=True)
    if found:
        rows = [[name, cell.row, cell.column, before, after] for name, (cell, before, after) in found]
        print("\n" + table(["section", "row", "column", "recorded", "now"], rows))
    if failed:
        print(f"these benchmarks failed: {', '.join(failed)}", file=sys.stderr)
    sys.exit(1 if found or failed else 0)


if __name__ == "__main__":
    main()
