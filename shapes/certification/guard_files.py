"""Guards from a file: one proposition a line with its origin, or a recorded session.

    >>> text = '''# what the server drops
    ... s0 <= 8192                          # if tokens.shape[1] <= 8192:  # serve/model.py:41 in forward
    ... L['x'].size()[0] == L['y'].size()[0]
    ... s0 % = 8'''
    >>> for condition in read_lines(text.splitlines()).conditions:
    ...     print(condition.line, condition.text, condition.origin)
    2 s0 <= 8192 model.py:41 in forward
    3 L['x'].size()[0] == L['y'].size()[0] None
    4 s0 % = 8 None

What is wrong with a line is found where its guard is judged, and counts as a guard that was not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, assert_never

from shapes.certification.certificates import Condition, Conditions
from shapes.certification.size_names import names_in
from shapes.errors import ShapeError
from shapes.origin import Origin
from shapes.sessions.recording import (
    FactLine,
    FaultyLine,
    QuestionLine,
    RecordedSession,
    SymbolLine,
    open_recording,
    read_sessions,
)

COMMENT: Final = re.compile(r"(?:^|\s)#")
PLACE: Final = re.compile(r"([^\s#()]+):(\d{1,9})(?: in ([^\s()]+))?")
LONGEST: Final = 1 << 24
"""Bytes of a file of lines."""


def place_in(comment: str) -> Origin | None:
    """The first `file:line in function` of a comment."""
    found = PLACE.search(comment)
    return None if found is None else Origin(found[1], int(found[2]), found[3] or "")


def read_lines(lines: Iterable[str]) -> Conditions:
    """A guard on each line; what follows a `#` says where it comes from."""
    conditions = []
    for number, line in enumerate(lines, 1):
        comment = COMMENT.search(line)
        text = line if comment is None else line[: comment.start()]
        if text.strip():
            origin = None if comment is None else place_in(line[comment.end() :])
            conditions.append(Condition(text.strip(), origin, line=number))
    return Conditions(conditions)


def read_guards(path: Path, session: str | None = None) -> Conditions:
    """The guards of a file: of a recorded session if it holds some, else of its lines.

    Raises:
        OSError: there is no such file.
        ShapeError: it is no text, or holds several sessions and `session` is none of them.
    """
    with open_recording(path) as file:
        start = file.read(LONGEST + 1)
    if not start.lstrip().startswith(b"{"):
        if len(start) > LONGEST:
            raise ShapeError(f"{path}: more than {LONGEST >> 20} MiB of guards")
        try:
            return read_lines(start.decode().splitlines())
        except UnicodeDecodeError as error:
            raise ShapeError(f"{path}: no text, at byte {error.start}") from None
    with open_recording(path) as file:
        sessions = list(read_sessions(file))
    chosen = [each for each in sessions if session is None or each.name == session]
    if len(chosen) != 1:
        names = ", ".join([repr(each.name) for each in sessions]) or "no session"
        raise ShapeError(f"{path} has {names}; expected one session, or which one")
    return read_session(chosen[0])


def read_session(session: RecordedSession) -> Conditions:
    """The conditions that a compiled check of a session's environment tests: ranges of inputs, assumptions of the
    caller, guards.
    """
    conditions: list[Condition] = []
    assumed: list[str] = []
    bounds: dict[str, tuple[int | None, int | None]] = {}
    integers: set[str] = set()
    for line in session.lines:
        match line:
            case SymbolLine(kind="unbacked"):
                bounds[line.name] = (line.lo, line.hi)
            case SymbolLine():
                origin = Origin.parse(line.at)
                ends = [(line.lo, ">="), (line.hi, "<=")]
                if line.lo is None or line.lo < 0:
                    integers.add(line.name)
                for end, sign in ends:
                    if end is not None and (end, sign) != (0, ">="):
                        conditions.append(Condition(f"{line.name} {sign} {end}", origin, line=line.number))
            case FactLine(kind="assert"):
                assumed.append(f"run-time check {line.text}")
            case FactLine():
                conditions.append(Condition(line.text, Origin.parse(line.at), line=line.number))
            case FaultyLine():
                conditions.append(Condition("a line of the session", line=line.number, fault=line.message))
            case QuestionLine():
                continue
            case _:
                assert_never(line)
    conditions = without_unbacked(conditions, set(bounds))
    return Conditions(conditions, integers=frozenset(integers), bounds=bounds, assumed=assumed)


def without_unbacked(conditions: Sequence[Condition], unbacked: set[str]) -> list[Condition]:
    """Those that a check of the inputs can be about."""
    return [each for each in conditions if each.fault or unbacked.isdisjoint(names_in(each.text))]


__all__ = ["place_in", "read_guards", "read_lines", "read_session"]
