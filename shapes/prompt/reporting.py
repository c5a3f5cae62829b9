"""A recorded session as a page: what was known, what was asked with its evidence, and the guards that remain.

>>> session = RecordedSession("one")
>>> session.lines = [SymbolLine(2, "s", 0, None, 4), FactLine(3, "s % 16 == 0", "given"), QuestionLine(4, "s % 8 == 0")]
>>> print(text_of_page(page_of(session)))
one
[2]   declared   0 <= s        hint 4
[3]   assumed    s % 16 == 0
questions
[4]   always   s % 8 == 0
      because  s % 16 == 0 [3]
"""

from __future__ import annotations

import html
import sys
from pathlib import Path

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.prompt import display
from shapes.prompt.page import Line, Page, Span, columns, html_of_page, line, show, span, text_of_page
from shapes.prompt.replaying import MALFORMED, UNREADABLE
from shapes.sessions.recording import (
    FactLine,
    FaultyLine,
    QuestionLine,
    RecordedSession,
    SymbolLine,
    open_recording,
    read_sessions,
)
from shapes.sessions.replay import Answer, replay_session
from solver.syntax.short_text import number_text

USAGE = 64


def report_session(file: str, *, session: str | None = None, output: str | None = None, solvers: bool = True) -> int:
    """Print the sessions of a file, or write them as HTML; the result is the exit status."""
    try:
        with open_recording(Path(file)) as recording:
            sessions = [each for each in read_sessions(recording) if session in (None, each.name)]
        if not sessions:
            message = f"{file} has no session" + (f" of the name {session!r}" if session is not None else "")
            show(display.error_page(ShapeError(message)), sys.stderr)
            return USAGE
        page = [row for each in sessions for row in [*page_of(each, file, solvers=solvers), line()]]
        if output is None:
            show(page, sys.stdout)
        else:
            title = html.escape(f"{Path(file).name}: {', '.join([each.name for each in sessions])}")
            head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>\n'
            Path(output).write_text(head + html_of_page(page) + "\n</body></html>\n", encoding="utf-8")
    except BrokenPipeError:  # for who calls this: the reader of our output has seen enough
        raise
    except OSError as error:
        show(display.error_page(ShapeError(f"{error.filename or file}: {error.strerror or error}")), sys.stderr)
        return UNREADABLE
    return MALFORMED if any(isinstance(each, FaultyLine) for found in sessions for each in found.lines) else 0


def page_of(session: RecordedSession, file: str | None = None, *, solvers: bool = True) -> Page:
    """One session; `file` is where it is, for the guards that its environment keeps."""
    replay = replay_session(session.lines, solvers=solvers, decimals=session.decimals, evidence=True)
    texts: dict[int, str] = {}
    questions: dict[int, str] = {}
    rows: list[list[Span]] = []
    for each in session.lines:
        place = span(f"[{each.number}]", "line")
        match each:
            case SymbolLine():
                text = texts[each.number] = text_of_page(display.bounds_page(each.name, each.lo, each.hi))
                hint = "no hint" if each.hint is None else f"hint {number_text(each.hint)}"
                notes = [note for note in (hint, each.source, each.at) if note]
                rows.append([place, span(display.KINDS["range"], "muted"), span(text, "fact"), span(", ".join(notes))])
            case FactLine():
                texts[each.number] = each.text
                kind = display.KINDS[each.role or each.kind]
                rows.append([place, span(kind, "muted"), span(each.text, "fact"), span(each.at or "", "line")])
            case QuestionLine():
                questions[each.number] = each.text
            case FaultyLine():
                rows.append([place, span("error", "error"), span(each.message)])
    page: list[Line] = [line(span(session.name, "heading")), *columns(rows)]
    if replay.clash is not None:
        page.append(line(span(str(replay.clash), "error")))
    elif file is not None and not replay.faults and not replay.errors:
        guards = ShapeEnv.load(file, session.name).guards()
        if guards:
            page += [line(span("guards, without those that follow from others", "heading"))]
            page += display.guards_page(guards)
    if replay.answers:
        page.append(line(span("questions", "heading")))
        heads = columns([_answered(each, questions[each.line]) for each in replay.answers])
        for answer, head in zip(replay.answers, heads, strict=True):
            page += [head, line("      ", *_evidence(answer, texts))]
    return page


def _answered(answer: Answer, question: str) -> list[Span]:
    name = answer.verdict.replace("_", " ")
    return [span(f"[{answer.line}]", "line"), span(name, display.STYLES[name]), span(question, "fact")]


def _evidence(answer: Answer, texts: dict[int, str]) -> list[Span]:
    """The facts that an answer follows from, or sizes for both outcomes."""
    if answer.core is not None:
        core = "   ".join(f"{texts[number]} [{number}]" for number in answer.core)
        return [span(f"because  {core}" if core else "whatever the sizes")]
    if answer.true_at is not None and answer.false_at is not None:
        true, false = (display.sizes_spans(sizes, ()) for sizes in (answer.true_at, answer.false_at))
        return [span("true at "), *true, span("   false at "), *false]
    return [span(answer.reason or "")]


__all__ = ["page_of", "report_session"]
