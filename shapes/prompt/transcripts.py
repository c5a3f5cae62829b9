"""Transcripts of the prompt, and saved sessions, as tests: each line is carried out, each answer compared.

    $ shapes --echo < script.txt > transcript.txt
    $ shapes test transcript.txt
    transcript.txt: 5 answers as they were

A transcript has `> ` before each line (with or without its number) and its answer below; text before the first such
line, and fences of Markdown, are left out.

>>> [(each.command, each.expected) for each in entries("> sizes s\\n> s >= 0 ?\\nalways    because  s >= 0 [1]\\n")]
[('sizes s', ''), ('s >= 0 ?', 'always    because  s >= 0 [1]')]
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shapes.errors import ShapeError
from shapes.prompt import display
from shapes.prompt.page import line, show, span, text_of_page
from shapes.prompt.session import Session
from shapes.sessions.recording import open_recording, read_sessions
from shapes.sessions.replay import replay_session

DIFFERS: Final = 1
MALFORMED: Final = 65
UNREADABLE: Final = 66
LINE: Final = re.compile(r"(?:\[\d+\] )?> ?(.*)")
FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a transcript (`number` in its file, from 1) with the answer below it."""

    number: int
    command: str
    expected: str


def entries(text: str) -> Iterator[Entry]:
    """The lines of a transcript with their answers."""
    begun: tuple[int, str] | None = None
    answer: list[str] = []
    for number, each in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(each)
        fence = each.startswith(FENCE)
        if found is None and not fence:
            answer.append(each.rstrip())
            continue
        if begun is not None:
            yield Entry(*begun, "\n".join(answer).strip("\n"))
        begun, answer = (number, found[1]) if found is not None else None, []
    if begun is not None:
        yield Entry(*begun, "\n".join(answer).strip("\n"))


def run_transcripts(files: Sequence[str]) -> int:
    """Test each file; the result is the exit status."""
    status = 0
    for file in files:
        try:
            differences, count = _saved(file) if _is_recording(file) else _transcript(file)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            show(display.error_page(ShapeError(f"{file}: {reason}")), sys.stderr)
            status = max(status, UNREADABLE)
            continue
        if not count:
            nothing = ShapeError(f"{file} has no line that begins with `> `, and no question")
            show(display.error_page(nothing), sys.stderr)
            status = max(status, MALFORMED)
            continue
        for difference in differences:
            print(difference)
        judged = f"{len(differences)} of {count} differ" if differences else f"{count} as they were"
        show([line(span(f"{file}: {judged}", "never" if differences else "always"))], sys.stdout)
        status = max(status, DIFFERS) if differences else status
    return status


def _transcript(file: str) -> tuple[list[str], int]:
    session = Session()
    differences = []
    count = 0
    for entry in entries(Path(file).read_text(encoding="utf-8-sig")):
        count += 1
        found = text_of_page(session.run(entry.command).page).strip("\n")
        if [each.split() for each in found.splitlines()] != [each.split() for each in entry.expected.splitlines()]:
            both = difflib.unified_diff(entry.expected.splitlines(), found.splitlines(), lineterm="", n=0)
            shown = [each for each in both if not each.startswith(("---", "+++", "@@"))]
            differences.append("\n".join([f"{file}:{entry.number}: {entry.command}", *[f"  {each}" for each in shown]]))
    return differences, count


def _is_recording(file: str) -> bool:
    return file.removesuffix(".gz").endswith(".jsonl")


def _saved(file: str) -> tuple[list[str], int]:
    """The questions of all sessions of a file whose recorded truth is another, or that contradict each other."""
    differences = []
    count = 0
    with open_recording(Path(file)) as recording:
        for session in read_sessions(recording, labels=True):
            replay = replay_session(session.lines, solvers=True, decimals=session.decimals)
            for fault in [*replay.faults, *replay.errors]:
                differences.append(f"{file}:{fault.number}: {fault.message}")
            for answer in replay.answers:
                truth = session.labels.get(answer.line)
                count += 1
                if truth is not None and truth.replace("unknown", "gave_up") != answer.verdict:
                    differences.append(f"{file}:{answer.line}: it was {truth}, and is {answer.verdict}")
    return differences, count
