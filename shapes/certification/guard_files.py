"""Guards from a file: one proposition a line with its origin, a recorded session, or what torch logged.

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

import gzip
import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, assert_never

from shapes.certification.certificates import Condition, Conditions
from shapes.certification.line_comments import place_in
from shapes.certification.torch_logs import is_log, read_log
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
from shapes.size_names import names_in

COMMENT: Final = re.compile(r"(?:^|\s)#")
LONGEST: Final = 1 << 28
"""Bytes of a file."""
STANDARD_INPUT: Final = ("-", "/dev/stdin", "/dev/fd/0")
ARCHIVE: Final = b"PK\x03\x04"
PACKED: Final = b"\x1f\x8b"
MARKS: Final = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""Byte order marks, with the encoding that each begins."""
LISTS: Final = re.compile(r"dynamo_cpp_guards_str.*\.txt$")
TRACES: Final = re.compile(r"torch_trace.*\.log$")
COMPILATION: Final = re.compile(r"[!-]?_?(\d+)_\d+_\d+$")


class Unread(ShapeError):
    """A file without a guard that could be read: it certifies nothing."""


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


def read_guards(path: Path | str, session: str | None = None) -> list[Conditions]:
    """The guards of a file, `-` for standard input: of a recorded session, of a log of torch's, or of its lines; or of
    a folder, as `TORCH_TRACE` and tlparse write it. One element for each compiled variant.

    Raises:
        OSError: there is no such file.
        Unread: it has no guard, is no text, breaks off, or holds several sessions and `session` is none of them.
    """
    if isinstance(path, Path) and path.is_dir():
        return _read_folder(path)
    try:
        start = _contents(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unread(f"{path} is truncated: {error}") from None
    if start.startswith(ARCHIVE):
        raise Unread(
            f"{path} is an archive; `shapes certify FILE.pt2` reads those of torch.export, with the extra torch"
        )
    if start.lstrip().startswith(b"{"):
        found = [_read_recording(path, start, session)]
    else:
        lines = _text(path, start).splitlines()
        found = read_log(lines) if is_log(lines) else [read_lines(lines)]
    if all(condition.fault for each in found for condition in each.conditions):
        faults = [condition.fault for each in found for condition in each.conditions]
        raise Unread(f"{path} has no guard that can be read: {faults[0] if faults else 'there are no guards'}")
    return found


def _contents(path: Path | str) -> bytes:
    if str(path) in STANDARD_INPUT:
        start = sys.stdin.buffer.read(LONGEST + 1)
        start = gzip.decompress(start) if start.startswith(PACKED) else start
    else:
        with open_recording(Path(path)) as file:
            start = file.read(LONGEST + 1)
    if len(start) > LONGEST:
        raise Unread(f"{path}: more than {LONGEST >> 20} MiB of guards")
    return start


def _text(path: Path | str, contents: bytes) -> str:
    encoding = next((name for mark, name in MARKS.items() if contents.startswith(mark)), "utf-8")
    try:
        text = contents.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unread(f"{path}: not text, at byte {error.start}") from None
    if "\0" in text:
        raise Unread(f"{path}: not text, at byte {text.index(chr(0))}")
    return text


def _read_recording(path: Path | str, contents: bytes, session: str | None) -> Conditions:
    sessions = list(read_sessions(contents.splitlines(keepends=True)))
    chosen = [each for each in sessions if session is None or each.name == session]
    if len(chosen) != 1:
        names = ", ".join([repr(each.name) for each in sessions]) or "no session"
        raise Unread(f"{path} has {names}; expected one session; name one of several")
    return read_session(chosen[0])


def _read_folder(folder: Path) -> list[Conditions]:
    """The lists of guards in a folder, each compilation a variant."""
    found: list[Conditions] = []
    for file in sorted(folder.rglob("*")):
        if file.is_file() and (LISTS.match(file.name) or TRACES.search(file.name)):
            each = read_log(_text(file, _contents(file)).splitlines())
            # tlparse has a folder for each compilation: its name is the compilation
            frame = COMPILATION.match(file.parent.name)
            found += [replace(one, group=(str(folder), frame[1])) if frame else one for one in each]
    if not any(each.conditions for each in found):
        raise Unread(f"{folder} has no list of guards; TORCH_TRACE=FOLDER writes one, and so does tlparse")
    return found


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
    """The conditions without those on unbacked sizes, which no check of the inputs can decide."""
    return [each for each in conditions if each.fault or unbacked.isdisjoint(names_in(each.text))]


__all__ = ["Unread", "read_guards", "read_lines", "read_session"]
