"""`shapes report`: a recorded session, or the records of a process, printed or as one page.

>>> session = RecordedSession("one")
>>> session.lines = [SymbolLine(2, "s", 0, None, 4), FactLine(3, "s % 16 == 0", "given"), QuestionLine(4, "s % 8 == 0")]
>>> print(text_of_page(page_of(session_report(session))))
one
[2]   declared   0 <= s        hint 4
[3]   assumed    s % 16 == 0
questions
[4]   always   s % 8 == 0
      because  s % 16 == 0 [3]

A session is what was known, what was asked with its evidence, and the guards that remain.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.prompt import display
from shapes.prompt.page import Line, Page, Span, columns, line, show, span, text_of_page
from shapes.prompt.replaying import MALFORMED, UNREADABLE
from shapes.reports.files import read_folder
from shapes.reports.page import MissingExtra, save_page
from shapes.reports.process import write_site
from shapes.reports.records import Entry, Excerpt, FunctionReport, Kind
from shapes.sessions.recording import (
    FactLine,
    FaultyLine,
    QuestionLine,
    RecordedSession,
    SymbolLine,
    open_recording,
    read_sessions,
)
from shapes.sessions.replay import Answer, Replay, replay_session
from solver.syntax.short_text import number_text, sizes_text

USAGE: Final = 64
FOLLOWS: Final = "follows from others"
"""The note of a guard that is not needed."""
FACTS: Final[dict[str, Kind]] = {
    "range": "declared",
    "given": "assumption",
    "hypothesis": "assumption",
    "guard": "guard",
    "assert": "assert",
}
WORDS: Final[dict[Kind, str]] = {
    "declared": display.KINDS["range"],
    "assumption": display.KINDS["given"],
    "guard": display.KINDS["guard"],
    "assert": display.KINDS["assert"],
    "error": "error",
}


def report_session(file: str, *, session: str | None = None, output: str | None = None, solvers: bool = True) -> int:
    """Print the sessions of a file, or the records in a folder, or write them as a page; the result is the exit
    status."""
    try:
        if Path(file).is_dir():
            return report_folder(Path(file), session=session, output=output)
        with open_recording(Path(file)) as recording:
            sessions = [each for each in read_sessions(recording) if session in (None, each.name)]
        if not sessions:
            message = f"{file} has no session" + (f" of the name {session!r}" if session is not None else "")
            return refused(ShapeError(message), USAGE)
        reports = [session_report(each, file, solvers=solvers) for each in sessions]
        if output is None:
            show([row for each in reports for row in [*page_of(each), line()]], sys.stdout)
        else:
            save_page(reports, output, title=f"{Path(file).name}: {', '.join([each.name for each in sessions])}")
    except BrokenPipeError:  # for who calls this: the reader of our output has seen enough
        raise
    except MissingExtra as error:
        return refused(error, USAGE)
    except OSError as error:
        return refused(ShapeError(f"{error.filename or file}: {error.strerror or error}"), UNREADABLE)
    return MALFORMED if any(isinstance(each, FaultyLine) for found in sessions for each in found.lines) else 0


def report_folder(folder: Path, *, session: str | None, output: str | None) -> int:
    """Print the records in a folder, or write them as a page: a file that ends in `.html`, or a folder for it."""
    if session is not None:
        return refused(ShapeError(f"--session {session}: {folder} has records of functions, not sessions"), USAGE)
    try:
        if output is None:
            text = "\n".join([each.text(sources=True) for each in read_folder(folder)])
            show([line(row) for row in text.splitlines()], sys.stdout)
        else:
            target = Path(output)
            write_site(folder, target if target.suffix == ".html" else target / "index.html")
    except MissingExtra as error:
        return refused(error, USAGE)
    except ShapeError as error:
        return refused(error, MALFORMED)
    return 0


def refused(error: Exception, status: int) -> int:
    show(display.error_page(error), sys.stderr)
    return status


def session_report(session: RecordedSession, file: str | None = None, *, solvers: bool = True) -> FunctionReport:
    """One session; `file` is where it is, for the guards that its environment keeps."""
    replay = replay_session(session.lines, solvers=solvers, decimals=session.decimals, evidence=True)
    answers = {each.line: each for each in replay.answers}
    alone = needed_guards(session, replay, file)
    path = file or session.name
    texts: dict[int, str] = {}
    found: list[Entry] = []
    for each in session.lines:
        entry: Entry
        match each:
            case SymbolLine():
                text = text_of_page(display.bounds_page(each.name, each.lo, each.hi))
                hint = "no hint" if each.hint is None else f"hint {number_text(each.hint)}"
                notes = ", ".join([note for note in (hint, each.source, each.at) if note])
                entry = Entry("declared", text, path, each.number, note=notes)
            case FactLine():
                kind = FACTS[each.role or each.kind]
                entry = Entry(kind, each.text, path, each.number, note=each.at or "")
                if kind == "guard" and alone is not None:
                    entry = judged(entry, alone)
            case QuestionLine():
                entry = answered(each, answers.get(each.number), path, texts)
            case FaultyLine():
                entry = Entry("error", each.message, path, each.number)
        texts[each.number] = entry.text
        found.append(entry)
    if replay.clash is not None:
        found.append(Entry("error", str(replay.clash)))
    numbers = tuple(dict.fromkeys([each.line for each in found if each.line]))
    lines = {each.line: f"{WORDS.get(each.kind, 'asked')}  {each.text}" for each in found}
    excerpt = Excerpt(path, numbers, tuple([lines[number] for number in numbers]))
    return FunctionReport(session.name, path, asked=tuple(found), excerpts=(excerpt,))


def needed_guards(session: RecordedSession, replay: Replay, file: str | None) -> dict[int, str] | None:
    """The lines of the guards that do not follow from others, with the sizes that each alone rejects; None if the
    session has no environment."""
    if file is None or replay.clash is not None or replay.faults or replay.errors:
        return None
    guards = ShapeEnv.load(file, session.name).guards()
    return {each.fact.line or 0: "" if each.rejects is None else sizes_text(each.rejects) for each in guards}


def judged(entry: Entry, alone: Mapping[int, str]) -> Entry:
    """A guard with its verdict under the others."""
    if entry.line not in alone:
        note = f"{entry.note}, {FOLLOWS}" if entry.note else FOLLOWS
        return replace(entry, verdict="always", note=note)
    return replace(entry, verdict="depends" if alone[entry.line] else "unknown", rejects=alone[entry.line])


def answered(question: QuestionLine, answer: Answer | None, file: str, texts: dict[int, str]) -> Entry:
    """A question with its verdict, and the facts that it follows from, or sizes for both outcomes."""
    if answer is None:
        return Entry("question", question.text, file, question.number, verdict="unknown")
    accepts, rejects = ["" if sizes is None else sizes_text(sizes) for sizes in (answer.true_at, answer.false_at)]
    return Entry(
        "question",
        question.text,
        file,
        question.number,
        verdict=answer.verdict.replace("_", " "),
        facts=tuple([f"{texts[number]} [{number}]" for number in answer.core or ()]),
        accepts=accepts,
        rejects=rejects,
        note=(answer.reason or "") if answer.core is None else "" if answer.core else "whatever the sizes",
    )


def page_of(report: FunctionReport) -> Page:
    """The report of a session as lines for a terminal."""
    page: list[Line] = [line(span(report.name, "heading"))]
    page += columns([_stated(each) for each in report.asked if each.kind != "question" and each.line])
    page += [line(span(each.text, "error")) for each in report.asked if not each.line]
    guards = [each for each in report.asked if each.kind == "guard" and each.verdict in ("depends", "unknown")]
    if guards:
        page.append(line(span("guards, without those that follow from others", "heading")))
        page += columns([_needed(each) for each in guards])
    questions = [each for each in report.asked if each.kind == "question"]
    if questions:
        page.append(line(span("questions", "heading")))
        heads = columns([_asked(each) for each in questions])
        for question, head in zip(questions, heads, strict=True):
            page += [head, line("      ", *_evidence(question))]
    return page


def _number(entry: Entry) -> Span:
    return span(f"[{entry.line}]", "line")


def _stated(entry: Entry) -> list[Span]:
    word = span(WORDS[entry.kind], "error" if entry.kind == "error" else "muted")
    return [_number(entry), word, span(entry.text, "plain" if entry.kind == "error" else "fact"), span(entry.note)]


def _needed(entry: Entry) -> list[Span]:
    alone = f"it alone rejects {entry.rejects}" if entry.rejects else ""
    return [_number(entry), span(entry.text, "fact"), span(alone, "muted")]


def _asked(entry: Entry) -> list[Span]:
    return [_number(entry), span(entry.verdict, display.STYLES.get(entry.verdict, "plain")), span(entry.text, "fact")]


def _evidence(entry: Entry) -> list[Span]:
    if entry.facts:
        return [span(f"because  {'   '.join(entry.facts)}")]
    if entry.accepts or entry.rejects:
        return [span("true at "), span(entry.accepts, "value"), span("   false at "), span(entry.rejects, "value")]
    return [span(entry.note)]


__all__ = ["page_of", "report_session", "session_report"]
