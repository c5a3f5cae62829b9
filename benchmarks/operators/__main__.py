"""Torch's operator database, traced with symbolic sizes and compared with eager.

    python -m benchmarks.operators [--only abs,cat] [--samples 10] [--forward | --backward] [--fresh]
        [--backend cpu|triton] [--dtype bfloat16] [--write]

A run resumes the last one: an operator with a line in `.operators/` is skipped, unless it is named by `--only` or all
are rerun (`--fresh`). `--write` puts what there is into RESULTS.md and seen.jsonl, which the suite compares with. With
another backend than the eager one, the summary goes into the results of all benchmarks.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.operators.page import PAGE, page, summary
from benchmarks.operators.programs import database
from benchmarks.operators.record import WORK, Outcome, read, write_seen
from benchmarks.operators.worker import Worker
from benchmarks.report import write_section

DIRECTIONS = ("forward", "backward")
COMMAND = "python -m benchmarks.operators --write --backend "


def run(options: argparse.Namespace, direction: str) -> list[Outcome]:
    """The outcomes of all operators, those that are missing judged now."""
    WORK.mkdir(exist_ok=True)
    eager = options.backend == "eager"
    words = [*([] if eager else [options.backend]), *([] if options.dtype == "float32" else [options.dtype]), direction]
    path = WORK / f"{'-'.join(words)}.jsonl"
    if options.fresh and not options.only:
        path.unlink(missing_ok=True)
    done = read(path)
    names = sorted(database(options.dtype))
    wanted = options.only.split(",") if options.only else [name for name in names if name not in done]
    worker = Worker(options.backend)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=console) if console.is_terminal else nullcontext()
    with path.open("a", buffering=1) as lines, shown as progress:
        task = progress.add_task(direction, total=len(wanted)) if progress else None
        for name in wanted:
            if progress:
                progress.update(task, description=f"{direction} {name}")
            backward = direction == "backward"
            done[name] = outcome = worker.judge(name, options.samples, backward=backward, dtype=options.dtype)
            print(outcome.line(), file=lines)
            if options.only:
                told(outcome)
            if progress:
                progress.advance(task)
    worker.end()
    return sorted([outcome for outcome in done.values() if outcome.samples], key=lambda outcome: outcome.operator)


def told(outcome: Outcome) -> None:
    """All that there is to say of one operator."""
    print(f"{outcome.operator}: {outcome.verdict}, {outcome.right} of {outcome.samples}, general: {outcome.general}")
    print(f"  right at {outcome.elsewhere} other sizes, {outcome.seconds} s")
    for what in ("failed", "wrong", "pinned", "ones", "refused", "stopped", "lenient", "strides"):
        for line in getattr(outcome, what):
            print(f"  {what} {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="these operators, again")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--forward", action="store_true", help="the operators alone")
    parser.add_argument("--backward", action="store_true", help="with gradients alone")
    parser.add_argument("--fresh", action="store_true", help="all again")
    parser.add_argument("--write", action="store_true", help="put what there is into RESULTS.md and seen.jsonl")
    parser.add_argument("--backend", default="eager", help="what runs the graphs")
    parser.add_argument("--dtype", default="float32", help="of the samples")
    options = parser.parse_args()
    chosen = [name for name in DIRECTIONS if getattr(options, name)] or list(DIRECTIONS)
    found = {name: run(options, name) for name in chosen}
    if not options.only:
        print(summary(found))
    if options.write:
        if len(found) != len(DIRECTIONS) or options.only or options.dtype != "float32":
            sys.exit("--write: only with all operators in float32, forward and backward")
        if options.backend != "eager":
            title = f"Operators through the {options.backend} backend"
            write_section(f"operators, {options.backend}", title, summary(found), command=COMMAND + options.backend)
            return
        write_seen(found)
        PAGE.write_text(page(found, "python -m benchmarks.operators --write"))


if __name__ == "__main__":
    main()
