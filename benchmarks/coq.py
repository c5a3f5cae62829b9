"""Check certificates with Coq: a sample over all rungs, exported, compiled by `coqc` and read again.

    python -m benchmarks.coq [--sample 500] [--normalized 200] [--no-solvers] [--write] [FILES...]

The questions are those of FILES, the recorded corpus and the written cases by default. Of the verdicts of each rung
some are drawn at random, so many that together they are the sample, where there are as many, and as a sample of their
own some of those that the normal form alone settles. Their certificates are exported, many theorems to a file. A
theorem that `coqc` refuses is named and left out, and the rest of its file is tried again. Each statement is
read by `benchmarks.coq_statements` and compared with Python's evaluation of the texts at small sizes. What is not
exported is counted by the reason, and another verdict is drawn instead.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import report
from benchmarks.coq_statements import disagreement
from benchmarks.evidence import percent, rules
from benchmarks.recorded import corpus_files
from benchmarks.textbook import question_files
from shapes import Always, Never, ShapeEnv
from shapes.errors import NotExported, ShapeError
from shapes.sessions.recording import FactLine, QuestionLine, RecordedSession, SymbolLine, open_recording, read_sessions
from solver.coq import theorems_of
from solver.coq.library import standalone

Settled = Always | Never
BATCH = 40
"""Theorems in a file: starting Coq takes as long as checking some of them."""


def settled(session: RecordedSession, *, solvers: bool) -> Iterator[Settled]:
    """The proofs that a session's questions get, each question once."""
    env = ShapeEnv(decimals=session.decimals, solvers=solvers, origin=lambda: None)
    asked: set[str] = set()
    for line in session.lines:
        try:
            match line:
                case SymbolLine(name=name, lo=lo, hi=hi, hint=None):
                    env.unbacked(name, lo=lo, hi=hi)
                case SymbolLine(name=name, lo=lo, hi=hi, hint=hint):
                    env.symbol(name, lo=lo, hi=hi, hint=hint)
                case FactLine(text=text):
                    env.assume(text)
                case QuestionLine(text=text) if text not in asked:
                    asked.add(text)
                    verdict = env.ask(text)
                    if isinstance(verdict, Always | Never):
                        yield verdict
        except ShapeError:
            return


def is_normalized(verdict: Settled) -> bool:
    """Return True if the normal form alone settles the question."""
    return verdict.found.rule == "trivial"


def drawn(
    sessions: list[RecordedSession], size: int, *, solvers: bool, wanted: Callable[[Settled], bool] = lambda _: True
) -> list[Settled]:
    """The verdicts of each rung, up to a sample of this size."""
    chance = random.Random(0)
    kept: dict[str, list[Settled]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for session in sessions:
        for verdict in settled(session, solvers=solvers):
            if not wanted(verdict):
                continue
            place = seen[verdict.rung]
            seen[verdict.rung] += 1
            if place < size:
                kept[verdict.rung].append(verdict)
            elif (other := chance.randrange(place + 1)) < size:
                kept[verdict.rung][other] = verdict
    for verdicts in kept.values():
        chance.shuffle(verdicts)
    found: list[Settled] = []
    rounds = [verdicts[::-1] for _, verdicts in sorted(kept.items())]
    while len(found) < size and any(rounds):
        found += [verdicts.pop() for verdicts in rounds if verdicts]
    return found[:size]


def refused(theorems: list[str], folder: Path) -> dict[int, str]:
    """The theorems that Coq does not accept, by place, and what it says."""
    found: dict[int, str] = {}
    waiting = list(range(len(theorems)))
    while waiting:
        text = standalone([theorems[i] for i in waiting])
        (folder / "sample.v").write_text(text, encoding="utf-8")
        done = subprocess.run(["coqc", "sample.v"], cwd=folder, capture_output=True, text=True, check=False)
        if not done.returncode:
            return found
        place = re.search(r"line (\d+)", done.stderr)
        above = text.split("\n")[: int(place[1])] if place else [text]
        name = [line for line in above if line.startswith("Theorem ")][-1]
        index = next(i for i in waiting if theorems[i].startswith(name))
        found[index] = done.stderr.strip().splitlines()[-1]
        waiting = [i for i in waiting if i > index]  # those before it were accepted
    return found


def run(options: argparse.Namespace) -> str:
    if shutil.which("coqc") is None:
        sys.exit("coqc is not installed (Debian package coq)")
    sessions = []
    for path in options.files or [*corpus_files(), *question_files()]:
        with open_recording(path) as file:
            sessions += list(read_sessions(file))
    samples = [(drawn(sessions, 2 * options.sample, solvers=options.solvers), options.sample)]
    others = drawn(sessions, 2 * options.normalized, solvers=options.solvers, wanted=is_normalized)
    samples.append((others, options.normalized))
    by_rung: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    accepted_by_rule: Counter[str] = Counter()
    left: Counter[str] = Counter()
    begin = time.process_time()
    exported: list[tuple[Settled, str]] = []
    wrong_statements: list[str] = []
    for verdicts, size in samples:
        end = len(exported) + size
        for verdict in verdicts:
            if len(exported) == end:
                break
            try:
                (text,) = theorems_of(verdict, f"_{len(exported)}")[1]
            except NotExported as error:
                left[f"{error.rule}: {error.why.rpartition(': ')[2]}"] += 1
                continue
            exported.append((verdict, text))
            by_rung[verdict.rung] += 1
            by_rule.update(rules(verdict.proof))
    writing = time.process_time() - begin
    for verdict, text in exported:
        assert verdict.written is not None
        facts = [fact.text for fact in verdict.core]
        found = disagreement(text, verdict.written, facts, negated=isinstance(verdict, Never))
        if found is not None:
            wrong_statements.append(f"{verdict.rung}: `{verdict.written}` {found}")
    errors: list[str] = []
    begin = sum(os.times()[:4])
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(exported), BATCH):
            batch = exported[first : first + BATCH]
            wrong = refused([text for _, text in batch], Path(folder))
            for index, (verdict, _) in enumerate(batch):
                if index in wrong:
                    errors.append(f"{verdict.rung}: `{verdict.written}`: {wrong[index]}")
                else:
                    accepted[verdict.rung] += 1
                    accepted_by_rule.update(rules(verdict.proof))
    checking = sum(os.times()[:4]) - begin
    total = sum(accepted.values())
    rungs: list[list[report.Cell]] = [[rung, n, accepted[rung]] for rung, n in sorted(by_rung.items())]
    steps: list[list[report.Cell]] = [[rule, n, accepted_by_rule[rule]] for rule, n in sorted(by_rule.items())]
    lines = [
        f"`coqc` accepts {percent(total, len(exported))}; {1000 * writing / len(exported):.1f} ms each to write, "
        f"{1000 * checking / len(exported):.0f} ms to check. Read again, "
        f"{percent(len(exported) - len(wrong_statements), len(exported))} of the statements say what Python evaluates."
    ]
    lines += [f"- states something else: {each}" for each in wrong_statements]
    lines += [f"- not exported, {count}: {why}" for why, count in left.most_common()]
    lines += [f"- refused: {error}" for error in errors]
    tables = report.table(["rung", "sampled", "accepted"], rungs), report.table(["rule", "proofs", "accepted"], steps)
    return "\n\n".join(["\n".join(lines), *tables])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, default=500, help="how many certificates to look at")
    parser.add_argument("--normalized", type=int, default=200, help="how many of those settled by normalization")
    parser.add_argument("--solvers", action=argparse.BooleanOptionalAction, default=True, help="ask z3 too")
    report.publish("coq", "Certificates and Coq", run, parser)


if __name__ == "__main__":
    main()
