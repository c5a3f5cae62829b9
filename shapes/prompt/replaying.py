"""Replay of files for a person or a program: progress while it runs, then a table; or one JSON object per question.

    $ shapes replay --json session.jsonl.gz
    {"file": "session.jsonl.gz", "line": 4, "verdict": "always", "rung": "bounds", "us": 21.5, "core": [2, 3], ...}
    {"summary": {...}}

One session is in memory at a time; of the answers only counts and times are kept.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Final

from shapes.prompt.page import Line, Page, Span, columns, line, show, span, wants_colour
from shapes.sessions.long_json import dumps
from shapes.sessions.recording import RecordedSession, open_regular, read_sessions, unpacked
from shapes.sessions.replay import Answer, Replay, load_solvers, replay_session

MALFORMED: Final = 65
UNREADABLE: Final = 66
FAILED: Final = 70

SHOWN: Final = 40
"""The number of malformed lines that are printed; the JSON summary has all."""
WRONG: Final = 1

Advance = Callable[[int], None]
"""A callback with the number of further bytes that were read."""


@dataclass(slots=True)
class Tally:
    """The totals over all sessions."""

    files: int = 0
    sessions: int = 0
    total: Replay = field(default_factory=Replay)
    """The counts and times of all sessions."""
    verdicts: Counter[str] = field(default_factory=Counter)
    rungs: dict[str, array[float]] = field(default_factory=dict)
    reading: array[float] = field(default_factory=lambda: array("d"))
    judged: Counter[str] = field(default_factory=Counter)
    wrong: list[dict[str, object]] = field(default_factory=list)
    contradictions: list[dict[str, object]] = field(default_factory=list)
    faults: list[dict[str, object]] = field(default_factory=list)
    errors: list[dict[str, object]] = field(default_factory=list)
    unreadable: list[dict[str, object]] = field(default_factory=list)

    @property
    def questions(self) -> int:
        return self.verdicts.total()

    def microseconds(self) -> list[float]:
        return sorted(time for times in self.rungs.values() for time in times)

    def add(self, file: str, session: RecordedSession, replay: Replay) -> None:
        self.sessions += 1
        for name in ("symbols", "facts", "symbol_seconds", "fact_seconds", "question_seconds", "evidence_seconds"):
            setattr(self.total, name, getattr(self.total, name) + getattr(replay, name))
        for answer in replay.answers:
            self.verdicts[answer.verdict] += 1
            self.rungs.setdefault(answer.rung, array("d")).append(answer.microseconds)
            if answer.rung != "inherited" and (answer.core is not None or answer.true_at is not None):
                self.reading.append(answer.evidence_microseconds)
        if replay.clash is not None:
            place = {"file": file, "session": session.name, "line": replay.clash.line, "core": replay.clash.core}
            self.contradictions.append(place)
        for fault in replay.faults:
            self.faults.append({"file": file, "line": fault.number, "message": fault.message})
        for error in replay.errors:
            self.errors.append({"file": file, "line": error.number, "message": error.message})

    def judge(self, file: str, labels: dict[int, str], answers: Sequence[Answer]) -> None:
        """Compare with the recorded truth; `unknown` is not judged."""
        for answer in answers:
            truth = labels.get(answer.line, "unknown")
            if truth == "unknown":
                self.judged["not judged"] += 1
            elif answer.verdict == "gave_up":
                self.judged["left open"] += 1
            elif answer.verdict == truth:
                self.judged["right"] += 1
            else:
                self.judged["wrong"] += 1
                self.wrong.append({"file": file, "line": answer.line, "verdict": answer.verdict, "truth": truth})


def replay_files(
    names: Sequence[str],
    *,
    as_json: bool = False,
    judge: bool = False,
    solvers: bool = True,
    evidence: bool = False,
) -> int:
    """Replay the files, print what was asked for; the result is the exit status. JSON shows the evidence too."""
    evidence = evidence or as_json
    if solvers:
        load_solvers()
    tally = Tally()
    total = sum(path.stat().st_size for path in map(Path, names) if path.is_file())
    with _progress(total) as advance:
        for name in names:
            try:
                with _opened(name) as raw:
                    tally.files += 1
                    for session in _sessions(raw, advance, labels=judge):
                        replay = replay_session(
                            session.lines, solvers=solvers, decimals=session.decimals, evidence=evidence
                        )
                        tally.add(name, session, replay)
                        if judge:
                            tally.judge(name, session.labels, replay.answers)
                        if as_json:
                            _print_answers(name, replay.answers)
            except OSError as error:
                if isinstance(error, BrokenPipeError):
                    raise
                tally.unreadable.append({"file": name, "message": error.strerror or str(error)})
    _report(tally, judge=judge, as_json=as_json)
    if tally.wrong:
        return WRONG
    if tally.errors:
        return FAILED
    return MALFORMED if tally.faults else UNREADABLE if tally.unreadable else 0


def _opened(name: str) -> AbstractContextManager[BufferedReader]:
    if name == "-":
        assert isinstance(sys.stdin.buffer, BufferedReader)
        return nullcontext(sys.stdin.buffer)
    return open_regular(name)


def _sessions(raw: BufferedReader, advance: Advance, *, labels: bool) -> Iterator[RecordedSession]:
    """The sessions of a file, telling how far it has been read."""
    seen = 0
    for session in read_sessions(unpacked(raw), labels=labels):
        yield session
        if raw.seekable():
            position = raw.tell()
            advance(position - seen)
            seen = position


def _print_answers(file: str, answers: Sequence[Answer]) -> None:
    rows = []
    for answer in answers:
        row = {"file": file, "line": answer.line, "verdict": answer.verdict, "rung": answer.rung}
        row |= {"us": round(answer.microseconds, 3), "core": answer.core}
        row |= {"true_at": answer.true_at, "false_at": answer.false_at, "reason": answer.reason}
        if answer.left_out:
            row["left_out"] = answer.left_out
        rows.append(dumps(row) + "\n")
    sys.stdout.write("".join(rows))


@contextmanager
def _progress(total: int) -> Iterator[Advance]:
    """A bar on the error stream for a person who waits."""
    if wants_colour(sys.stderr):
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
        except ImportError:
            pass
        else:
            shown = (TextColumn("replaying"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task("replaying", total=total)
                yield lambda size: bar.advance(task, size)
                return
    yield lambda size: None


# -------------------------------------------------------------------- the report


def _report(tally: Tally, *, judge: bool, as_json: bool) -> None:
    problems: list[Line] = []
    for clash in tally.contradictions:
        core = clash["core"]
        assert isinstance(core, tuple)
        text = f"{clash['file']}:{clash['line']}: contradiction between lines {', '.join(map(str, core))}"
        problems.append(line(span(text, "error"), f" ({clash['session']})"))
    mistakes = [*tally.faults, *tally.errors]
    for fault in mistakes[:SHOWN]:
        first, *rest = str(fault["message"]).splitlines()
        problems.append(line(span(f"{fault['file']}:{fault['line']}: ", "error"), first))
        problems += [line(text) for text in rest]
    if len(mistakes) > SHOWN:
        problems.append(line(span(f"and {len(mistakes) - SHOWN} more lines like these", "muted")))
    for fault in tally.unreadable:
        problems.append(line(span(f"{fault['file']}: ", "error"), str(fault["message"])))
    if problems:
        show(problems, sys.stderr)
    if as_json:
        print(dumps({"summary": summary(tally, judge=judge)}))
    else:
        show(summary_page(tally, judge=judge), sys.stdout)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else 0.0


def summary(tally: Tally, *, judge: bool) -> dict[str, object]:
    """The totals as data."""
    times = tally.microseconds()
    found: dict[str, object] = {
        "files": tally.files,
        "sessions": tally.sessions,
        "symbols": tally.total.symbols,
        "assumes": tally.total.facts,
        "asks": tally.questions,
        **{verdict: tally.verdicts[verdict] for verdict in ("always", "never", "depends", "gave_up")},
        "rungs": {rung: {"answers": len(us), "us": round(sum(us), 3)} for rung, us in _by_answers(tally)},
        "seconds": {
            "symbols": tally.total.symbol_seconds,
            "assumes": tally.total.fact_seconds,
            "asks": tally.total.question_seconds,
            "wall": tally.total.seconds,
        },
        "us": _spread(times),
        "contradictions": tally.contradictions,
        "malformed": tally.faults,
        "errors": tally.errors,
        "unreadable": tally.unreadable,
    }
    if tally.reading:
        found["evidence"] = {"seconds": tally.total.evidence_seconds, "us": _spread(sorted(tally.reading))}
    if judge:
        found["judged"] = {key: tally.judged[key] for key in ("right", "wrong", "left open", "not judged")}
        found["wrong"] = tally.wrong
    return found


def _spread(ordered: Sequence[float]) -> dict[str, float]:
    middle, high, longest = (percentile(ordered, share) for share in (0.5, 0.99, 1.0))
    return {"median": round(middle, 3), "p99": round(high, 3), "max": round(longest, 3)}


def _spread_text(ordered: Sequence[float]) -> str:
    figures = "median {median:,.1f} us, 99 % within {p99:,.0f} us, longest {milliseconds:,.1f} ms"
    spread = _spread(ordered)
    return figures.format(**spread, milliseconds=spread["max"] / 1000)


def _by_answers(tally: Tally) -> list[tuple[str, array[float]]]:
    return sorted(tally.rungs.items(), key=lambda item: (-len(item[1]), item[0]))


def summary_page(tally: Tally, *, judge: bool) -> Page:
    """The totals for a person."""
    asked = max(1, tally.questions)
    times = tally.microseconds()
    sources = f"in {tally.sessions:,} sessions of {tally.files:,} files"
    sources += f"; {tally.total.symbols:,} symbols, {tally.total.facts:,} facts"
    verdicts: list[list[Span]] = [[span("questions", "heading"), span(f"{tally.questions:,}", "value"), span(sources)]]
    for name in ("always", "never", "depends", "gave up"):
        count = tally.verdicts[name.replace(" ", "_")]
        verdicts.append([span(f"  {name}"), span(f"{count:,}", "value"), span(f"{100 * count / asked:.2f} %", "muted")])
    if judge:
        verdicts.append([span("against the recorded truth", "heading")])
        for name in ("right", "wrong", "left open", "not judged"):
            verdicts.append([span(f"  {name}"), span(f"{tally.judged[name]:,}", "value")])
    page = [*columns(_right_aligned(verdicts, {1}), "  "), line()]
    rungs = [[span(title, "heading") for title in ("rung", "answers", "share", "mean us", "total ms")]]
    for rung, us in _by_answers(tally):
        share = f"{100 * len(us) / asked:.2f} %"
        figures = [f"{len(us):,}", share, f"{sum(us) / len(us):,.1f}", f"{sum(us) / 1000:,.1f}"]
        rungs.append([span(rung), *map(span, figures)])
    page += [*columns(_right_aligned(rungs, {1, 2, 3, 4}), "  "), line()]
    meaning = "from the text of each line to its answer"
    seconds = [
        [span("seconds", "heading"), span(f"{tally.total.seconds:.3f}", "value"), span(meaning, "muted")],
        [span("  symbols"), span(f"{tally.total.symbol_seconds:.3f}")],
        [span("  facts"), span(f"{tally.total.fact_seconds:.3f}")],
        [span("  questions"), span(f"{tally.total.question_seconds:.3f}"), span(_spread_text(times), "muted")],
    ]
    if tally.reading:
        spread = _spread_text(sorted(tally.reading))
        seconds.append([span("reading evidence"), span(f"{tally.total.evidence_seconds:.3f}"), span(spread, "muted")])
    page += columns(_right_aligned(seconds, {1}), "  ")
    if tally.contradictions:
        page.append(line(span(f"contradictory sessions: {len(tally.contradictions)}", "error")))
    if tally.faults:
        page.append(line(span(f"malformed lines: {len(tally.faults)}", "error")))
    if tally.errors:
        page.append(line(span(f"internal errors: {len(tally.errors)}", "error")))
    return page


def _right_aligned(rows: list[list[Span]], which: set[int]) -> list[list[Span]]:
    """The cells of some columns padded on the left, as figures are."""
    widths = {i: max((len(row[i].text) for row in rows if i < len(row)), default=0) for i in which}
    return [[Span(c.text.rjust(widths[i]), c.style) if i in which else c for i, c in enumerate(row)] for row in rows]
