"""Ablation of the ladder: what each rung decides that the rungs before it cannot, and what is lost without it.

    python -m benchmarks.ablation [--no-solver] [--write] [FILES...]

The recorded questions are decided with all rungs, with the rungs up to each one, and with each one left out. An answer
is inherited within its session, as in an environment. Every verdict is compared with its label.
"""

import argparse
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import report
from benchmarks.recorded import corpus_files
from shapes.sessions.recording import FactLine, QuestionLine, RecordedSession, SymbolLine, open_recording, read_sessions
from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, Never
from solver.errors import ShapeError
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact
from solver.rungs.effort import RUNGS
from solver.syntax.parser import parse
from solver.terms.expr import Expr
from solver.terms.interner import Interner

ORDER = (
    "bounds",
    "shift",
    "remainder",
    "differences",
    "elimination",
    "search",
    "factor",
    "linear",
    "box",
    "residues",
    "extremes",
    "isolate",
    "split",
    "refine",
    "sympy",
    "z3",
)
"""As the ladder climbs them; substitution and the samples of the facts come before and belong to none."""


@dataclass
class Tally:
    decided: int = 0
    open: int = 0
    wrong: int = 0
    seconds: float = 0.0
    by: Counter[str] = field(default_factory=Counter)
    micros: Counter[str] = field(default_factory=Counter)


def decided(session: RecordedSession, rungs: frozenset[str], tally: Tally) -> None:
    """Decide a session's questions with some of the rungs; only the deciding is timed."""
    interner = Interner()
    facts: Facts | Conflict = Facts.empty(interner)
    names: dict[str, Expr] = {}
    settled: dict[object, str] = {}
    for line in session.lines:
        if isinstance(facts, Conflict):
            return
        match line:
            case SymbolLine(number, name, lo, hi, hint):
                symbol = names[name] = interner.symbol(name)
                limits = [] if lo is None else [interner.ge(symbol, lo)]
                limits += [] if hi is None else [interner.le(symbol, hi)]
                fact = Fact(interner.conjunction(limits), interner.true, "range", name, None, number, number)
                facts = facts.declare(symbol, lo, hi, fact, hint=hint)
            case FactLine(number, text, kind):
                parsed = parse(text, names, interner, decimals="real")
                facts = assume(facts, Fact(parsed.prop, parsed.domain, kind, text, None, number, number))
            case QuestionLine(number, text):
                truth = session.labels[number]
                parsed = parse(text, names, interner, decimals="real")
                question = (parsed.prop, parsed.domain)
                if question in settled:
                    tally.decided += settled[question] == truth
                    tally.wrong += truth not in (settled[question], "unknown")
                    tally.by["inherited"] += 1
                    continue
                begin = time.perf_counter()
                try:
                    verdict = decide(
                        facts,
                        parsed.prop,
                        domain=parsed.domain,
                        solvers=not rungs.isdisjoint({"sympy", "z3"}),
                        rungs=rungs,
                    )
                except ShapeError:
                    continue
                match verdict:
                    case Always() | Never():
                        _ = verdict.core
                        found = "always" if isinstance(verdict, Always) else "never"
                        settled[question] = found
                    case Depends(_, _):
                        found = "depends"
                    case _:
                        found = None
                spent = time.perf_counter() - begin
                tally.seconds += spent
                if found is not None:
                    tally.by[verdict.rung] += 1
                    tally.micros[verdict.rung] += spent * 1e6
                if truth != "unknown":
                    tally.decided += found == truth
                    tally.open += found is None
                    tally.wrong += found is not None and found != truth


def measure(sessions: Sequence[RecordedSession], rungs: Collection[str]) -> Tally:
    tally = Tally()
    for session in sessions:
        decided(session, frozenset(rungs), tally)
    return tally


def run(options: argparse.Namespace) -> str:
    known = [rung for rung in ORDER if rung in RUNGS] + sorted(RUNGS.difference(ORDER))
    order = [rung for rung in known if not (options.no_solver and rung in ("sympy", "z3"))]
    sessions = []
    for path in options.files or corpus_files():
        with open_recording(path) as file:
            sessions += list(read_sessions(file, labels=True))
    whole = measure(sessions, order)
    before = measure(sessions, ())
    rows: list[list[report.Cell]] = [["normal form, substitution, samples", None, None, before.decided, None, None]]
    wrong = whole.wrong + before.wrong
    for place, rung in enumerate(order):
        upto = measure(sessions, order[: place + 1]) if rung != order[-1] else whole
        without = measure(sessions, [other for other in order if other != rung])
        wrong += upto.wrong + without.wrong
        answered = whole.by[rung]
        rows.append(
            [
                rung,
                answered,
                f"{whole.micros[rung] / answered:,.0f}" if answered else "-",
                upto.decided - before.decided,
                whole.decided - without.decided,
                report.ratio(without.seconds, whole.seconds),
            ]
        )
        before = upto
    header = ["rung", "answers", "mean µs", "decides beyond those before", "lost without it", "time without it"]
    asked = whole.decided + whole.open + whole.wrong
    note = f"With all of them {whole.decided:,} of {asked:,} in {whole.seconds:.2f} s; wrong in any run: {wrong}."
    others = [[name, times, whole.micros[name] / times] for name, times in whole.by.items() if name not in order]
    rest = report.table(["answered elsewhere", "answers", "mean µs"], others)
    return "\n\n".join([report.table(header, rows), note, rest])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--no-solver", action="store_true", help="leave out sympy and z3")
    report.publish("ablation", "Ablation of rungs", run, parser)


if __name__ == "__main__":
    main()
