"""Quality of the evidence: certificates re-verified, and cores checked for irredundancy.

    python -m benchmarks.evidence [--sample 4000] [--write] [FILES...]

Every verdict is re-verified by `verdict.check()`, and those whose proof has no step of z3 are counted apart. A core is
irredundant when the question is no longer decided once any one of its facts is withheld; the engine itself, z3
included, answers that in an environment that has only the others. The questions are those of sessions drawn at random
from FILES, the recorded corpus and the written cases by default, until there are `--sample` of them.
"""

import argparse
import random
import statistics
import time
from collections import Counter
from pathlib import Path

from benchmarks import report
from benchmarks.recorded import corpus_files
from benchmarks.textbook import question_files
from shapes import Always, Depends, Never, ShapeEnv
from shapes.sessions.recording import (
    FactLine,
    QuestionLine,
    RecordedSession,
    SessionLine,
    SymbolLine,
    open_recording,
    read_sessions,
)
from shapes.sessions.replay import replay_session
from solver.proofs.step import ProofStep


def rules(proof: ProofStep) -> set[str]:
    """The rules of a proof, whose steps may be shared."""
    found: set[str] = set()
    seen: set[int] = set()
    stack = [proof]
    while stack:
        step = stack.pop()
        if id(step) not in seen:
            seen.add(id(step))
            found.add(step.rule)
            stack.extend(step.premises)
    return found


def certificates(session: RecordedSession, count: Counter[str], micros: list[float], reading: list[float]) -> None:
    """Re-verify each verdict of a session."""
    env = ShapeEnv(decimals="real")
    for line in session.lines:
        match line:
            case SymbolLine(name=name, lo=lo, hi=hi, hint=None):
                env.unbacked(name, lo=lo, hi=hi)
            case SymbolLine(name=name, lo=lo, hi=hi, hint=hint):
                env.symbol(name, lo=lo, hi=hi, hint=hint)
            case FactLine(text=text):
                env.assume(text)
            case QuestionLine(text=text):
                verdict = env.ask(text)
                match verdict:
                    case Always() | Never():
                        begin = time.perf_counter()
                        count["minimal"] += verdict.core_minimal
                        reading.append(1e6 * (time.perf_counter() - begin))
                        begin = time.perf_counter()
                        count["verified"] += verdict.check()
                        micros.append(1e6 * (time.perf_counter() - begin))
                        count["proofs"] += 1
                        count["without z3"] += "z3" not in rules(verdict.proof)
                    case Depends():
                        count["witnesses"] += 1
                        count["witnesses verified"] += verdict.check()


def settled_by(session: RecordedSession, question: QuestionLine, core: set[int], *, solvers: bool = True) -> str:
    """The verdict when nothing is known but the lines of `core`."""
    lines: list[SessionLine] = []
    for line in session.lines:
        if line.number >= question.number:
            break
        if isinstance(line, SymbolLine):
            kept = line.number in core
            lines.append(SymbolLine(line.number, line.name, line.lo if kept else None, line.hi if kept else None, None))
        elif line.number in core:
            lines.append(line)
    (answer,) = replay_session([*lines, question], solvers=solvers, evidence=False).answers
    return answer.verdict


def cores(
    session: RecordedSession,
    count: Counter[str],
    sizes: list[int],
    redundant: list[str],
    *,
    solvers: bool = True,
    least: int = 0,
) -> None:
    """Try each core of a session, if it has `least` facts or more, with each of its facts withheld."""
    texts = {
        line.number: line.text if isinstance(line, FactLine) else f"{line.lo} <= {line.name} <= {line.hi}"
        for line in session.lines
        if isinstance(line, FactLine | SymbolLine)
    }
    questions = {line.number: line for line in session.lines if isinstance(line, QuestionLine)}
    tried: set[tuple[str, tuple[int, ...]]] = set()
    for answer in replay_session(session.lines, solvers=solvers).answers:
        question = questions[answer.line]
        if answer.core is None or len(answer.core) < least or (question.text, answer.core) in tried:
            continue
        tried.add((question.text, answer.core))
        core = set(answer.core)
        sizes.append(len(core))
        count["cores"] += 1
        count["sufficient"] += settled_by(session, question, core, solvers=solvers) == answer.verdict
        without = {number: settled_by(session, question, core - {number}, solvers=solvers) for number in core}
        idle = [number for number in core if without[number] == answer.verdict]
        count["irredundant"] += not idle
        if idle:
            facts = ", ".join(f"[{texts[number]}]" if number in idle else texts[number] for number in sorted(core))
            redundant.append(f"{answer.rung}: `{question.text}` {answer.verdict} by {facts}")


def percent(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.2f} %)" if whole else "-"


def _spread(micros: list[float]) -> str:
    ordered = sorted(micros)
    return f"{statistics.median(ordered):.0f}, {ordered[len(ordered) * 99 // 100]:.0f}" if ordered else "-"


def run(options: argparse.Namespace) -> str:
    sessions = []
    for path in options.files or [*corpus_files(), *question_files()]:
        with open_recording(path) as file:
            sessions += list(read_sessions(file))
    random.Random(0).shuffle(sessions)
    count: Counter[str] = Counter()
    micros: list[float] = []
    reading: list[float] = []
    sizes: list[int] = []
    redundant: list[str] = []
    for session in sessions:
        if count["proofs"] >= options.sample:
            break
        certificates(session, count, micros, reading)
        cores(session, count, sizes, redundant)
    rows: list[list[report.Cell]] = [
        ["always/never re-verified by `check()`", percent(count["verified"], count["proofs"])],
        ["of them without z3", percent(count["without z3"], count["proofs"])],
        ["median µs of `check()`", f"{statistics.median(micros):.0f}" if micros else "-"],
        ["cores made minimal within their budget", percent(count["minimal"], count["proofs"])],
        ["µs to read a core: median, 99 % within", _spread(reading)],
        ["`depends` with two witnesses that hold", percent(count["witnesses verified"], count["witnesses"])],
        ["cores that suffice by themselves", percent(count["sufficient"], count["cores"])],
        ["cores from which no fact can be left out", percent(count["irredundant"], count["cores"])],
        ["facts in a core, mean and largest", f"{statistics.mean(sizes):.1f}, {max(sizes)}" if sizes else "-"],
    ]
    parts = [report.table(["evidence", "figure"], rows)]
    if options.redundant and redundant:
        listed = "\n".join(f"- {line}" for line in redundant[: options.redundant])
        parts.append(f"Cores with facts that can be left out, these in brackets:\n\n{listed}")
    return "\n\n".join(parts)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, default=4000, help="how many settled questions to look at")
    parser.add_argument("--redundant", type=int, default=0, help="list that many cores that are not irredundant")
    report.publish("evidence", "Evidence", run, parser)


if __name__ == "__main__":
    main()
