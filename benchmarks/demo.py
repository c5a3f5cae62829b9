"""The tour: replay recorded questions and compare with the baselines, show three questions with their evidence, and
compile a small transformer for batches of many shapes.

    python -m benchmarks.demo [FILES...]
"""

import argparse
import importlib.util
import re
import statistics
import warnings
from collections import Counter, defaultdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.recorded import CORPUS, corpus_files
from benchmarks.report import RESULTS
from shapes import Always, Depends, GaveUp, Never, ShapeEnv
from shapes.sessions.recording import RecordedSession, open_recording, read_sessions
from shapes.sessions.replay import Answer, load_solvers, replay_session

SHOWN = 7
"""Rows of a table that has a long tail."""

Judged = list[tuple[Answer, str]]  # each answer with its recorded label

QUESTIONS = (
    ("the batch is any size, the sequence padded to 16", ["s % 16 == 0", "b % 4 == 0"], "(b*s) % 64 == 0"),
    ("a chunk of a split never runs past its end", ["k >= 1", "i < ceildiv(n, k)", "i >= 0"], "i*k < n"),
    ("the same without the padding", ["b % 4 == 0"], "(b*s) % 64 == 0"),
)


def replayed(sessions: list[RecordedSession], console: Console) -> tuple[Judged, float]:
    judged: Judged = []
    seconds = 0.0
    load_solvers()
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TextColumn("sessions"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for session in progress.track(sessions):
            result = replay_session(session.lines)
            seconds += result.seconds
            judged += [(answer, session.labels[answer.line]) for answer in result.answers]
    return judged, seconds


def outcome_table(judged: Judged, seconds: float) -> Table:
    right = Counter(truth for answer, truth in judged if answer.verdict == truth)
    wrong = sum(answer.verdict not in (truth, "gave_up") for answer, truth in judged if truth != "unknown")
    micros = sorted(answer.microseconds for answer, _ in judged)
    asked = Counter(truth for _, truth in judged)
    settled, of = right["always"] + right["never"], asked["always"] + asked["never"]
    table = Table(title=f"{len(judged):,} questions that compilers asked about sizes", title_justify="left")
    table.add_column("what")
    table.add_column("figure", justify="right")
    table.add_row("always or never, decided", f"{settled:,} of {of:,} ({100 * settled / max(1, of):.2f} %)")
    table.add_row("depends, shown by two assignments", f"{right['depends']:,} of {asked['depends']:,}")
    table.add_row("wrong", str(wrong))
    table.add_row("median, from text to answer", f"{statistics.median(micros):.1f} µs")
    table.add_row("99th percentile", f"{micros[int(0.99 * (len(micros) - 1))]:,.0f} µs")
    table.add_row("all, symbols and facts included", f"{seconds:.2f} s")
    return table


def rung_table(judged: Judged) -> Table:
    micros: dict[str, list[float]] = defaultdict(list)
    for answer, _ in judged:
        if answer.verdict != "gave_up":
            micros[answer.rung].append(answer.microseconds)
    table = Table(title="Which rung answered", title_justify="left")
    for name in ("rung", "answers", "share", "mean µs"):
        table.add_column(name, justify="left" if name == "rung" else "right")
    ordered = sorted(micros.items(), key=lambda item: -len(item[1]))
    rows = ordered[:SHOWN]
    if others := ordered[SHOWN:]:
        rows.append((f"{len(others)} others", [each for _, times in others for each in times]))
    for rung, times in rows:
        share = 100 * len(times) / len(judged)
        table.add_row(rung, f"{len(times):,}", f"{share:.2f} %", f"{statistics.mean(times):,.1f}")
    return table


def baseline_table() -> Table | None:
    """The summary that `make bench` wrote, where it was run: baselines are slow, and large to install."""
    found = re.search(r"<!-- entailment -->\n.*?\n\n(.*?)\n\n(\|.*?)\n\n", RESULTS.read_text(), re.DOTALL)
    if found is None:
        return None
    setting, text = found.groups()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    header, body = rows[0], rows[2:]
    shown = [header.index(name) for name in ("engine", "always/never decided", "wrong", "median µs", "total s")]
    shown.append(len(header) - 2)  # the total as a multiple of ours
    title = "Compared with the baselines, measured in one run"
    table = Table(title=title, caption=setting.partition(" `")[0], title_justify="left")
    for i in shown:
        table.add_column(header[i], justify="left" if i == 0 else "right")
    for row in body:
        table.add_row(*(row[i] for i in shown))
    return table


def stated_baseline_table(judged: Judged, seconds: float) -> Table:
    """The baselines' scores when the corpus was recorded, on a shared core; and those of this run."""
    text = (CORPUS / "STATS.md").read_text().partition("# Baselines")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    header, body = rows[0], rows[2:]
    columns = ("baseline", "always/never right", "wrong", "median µs", "p99 µs", "seconds")
    shown = [header.index(name) for name in columns]
    table = Table(title="Compared with the baselines, as recorded with the questions", title_justify="left")
    for i in shown:
        table.add_column(header[i], justify="left" if i == 0 else "right")
    settled = sum(answer.verdict == truth for answer, truth in judged if truth in ("always", "never"))
    of = sum(truth in ("always", "never") for _, truth in judged)
    wrong = sum(answer.verdict not in (truth, "gave_up") for answer, truth in judged if truth != "unknown")
    micros = sorted(answer.microseconds for answer, _ in judged)
    figures = [f"{statistics.median(micros):.0f}", f"{micros[int(0.99 * (len(micros) - 1))]:.0f}", f"{seconds:.1f}"]
    table.add_row("symshape, here", f"{settled} ({100 * settled / max(1, of):.1f} %)", str(wrong), *figures)
    for row in body:
        note = row[-1] if len(row) > len(header) else ""
        cells = [row[i] for i in shown]
        table.add_row(f"{cells[0]} {note}".strip(), *cells[1:])
    return table


def show(title: str, facts: list[str], question: str, console: Console) -> None:
    env = ShapeEnv()
    names = sorted(set(re.findall(r"\b[a-z]\b", " ".join([*facts, question]))))
    env.sizes(" ".join(names))
    for fact in facts:
        env.assume(fact)
    console.print(f"[dim]# {title}[/]")
    console.print(f"  given {', '.join(facts)}:  [bold]{question}[/] ?", highlight=False)
    match verdict := env.ask(question):
        case Always(core) | Never(core):
            word = "always" if isinstance(verdict, Always) else "never"
            because = ", ".join(fact.text for fact in core)
            checked = "certificate checked" if verdict.check() else "ITS CERTIFICATE DOES NOT HOLD"
            console.print(f"  [green]{word}[/], because {because} ({verdict.rung}; {checked})\n", highlight=False)
        case Depends(true_at, false_at):
            sides = (", ".join(f"{name}={value}" for name, value in values.items()) for values in (true_at, false_at))
            console.print("  [yellow]depends[/]: true at {}; false at {}\n".format(*sides), highlight=False)
        case GaveUp(reason):
            console.print(f"  [red]gave up[/]: {reason}\n", highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="recorded sessions; without any, benchmarks/corpus")
    options = parser.parse_args()
    # of torch, which does without it; NumPy is not among what this installs
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
    console = Console()
    sessions = []
    for path in options.files or corpus_files():
        with open_recording(path) as file:
            sessions += list(read_sessions(file, labels=True))
    judged, seconds = replayed(sessions, console)
    console.print(outcome_table(judged, seconds))
    console.print(rung_table(judged))
    baselines = baseline_table() if RESULTS.exists() else None
    console.print(baselines if baselines is not None else stated_baseline_table(judged, seconds))
    for title, facts, question in QUESTIONS:
        show(title, facts, question, console)
    if importlib.util.find_spec("torch"):
        from benchmarks import demo_kernels, demo_transformer

        demo_transformer.show(console)
        demo_kernels.show(console)
    console.print("Ask your own: [bold].venv/bin/shapes[/], or [bold]from shapes import ShapeEnv[/].")


if __name__ == "__main__":
    main()
