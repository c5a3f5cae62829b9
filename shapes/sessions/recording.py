"""Recorded sessions, read line by line: one session at a time, each line understood or a fault with its number.

The format is described in `benchmarks/corpus/CORPUS.md`. `truth` is looked at only with `labels=True`.

>>> text = b'''{"op":"session","format":1,"name":"one"}
... {"op":"symbol","name":"s","kind":"backed","hint":4,"lo":0,"hi":null,"source":null}
... {"op":"ask","prop":"s >= 0","count":1,"commits":true,"truth":"always"}
... {"op":"assume","prop":7}'''
>>> (session,) = read_sessions(text.splitlines())
>>> session.name, [line.number for line in session.lines], session.lines[-1]
('one', [2, 3, 4], FaultyLine(number=4, message='`prop` is 7, not text', part='line'))

A recording may come from anywhere, so reading it is bounded: it is unpacked incrementally, a line has at most 64 MiB
and a million values, and a session 256 MiB; only regular files are opened. What goes beyond, and what breaks off, is
the last fault of its file.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple, cast

from shapes.sessions.long_json import loads
from solver.syntax.short_text import number_text, shortened

FORMAT: Final = 1
PRODUCER: Final = "symshape"
LONGEST_LINE: Final = 1 << 26
"""Bytes of a line, unpacked."""
LONGEST_SESSION: Final = 1 << 28
"""Bytes of all lines of a session: it is in memory as a whole."""
MOST_VALUES: Final = 1 << 20
"""Values of a line: brackets without anything in them take a hundred times their text."""
KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class SymbolLine(NamedTuple):
    number: int
    name: str
    lo: int | None
    hi: int | None
    hint: int | None
    kind: Literal["backed", "unbacked"] = "backed"
    source: str | None = None
    sources: tuple[str, ...] = ()
    at: str | None = None


class FactLine(NamedTuple):
    """A fact; `role` is what a given one is, where it is no assumption of the caller."""

    number: int
    text: str
    kind: Literal["given", "guard", "assert"]
    role: Literal["range", "hypothesis"] | None = None
    message: str = ""
    at: str | None = None


class QuestionLine(NamedTuple):
    number: int
    text: str


class FaultyLine(NamedTuple):
    """A line that cannot be understood. Without its header nothing in a session has a meaning; a question says nothing
    about those that follow; any other line may have been a fact.
    """

    number: int
    message: str
    part: Literal["header", "question", "line"] = "line"


SessionLine = SymbolLine | FactLine | QuestionLine | FaultyLine


@dataclass(slots=True)
class RecordedSession:
    """One session.

    Attributes:
        decimals: how to read decimals: as real numbers, as the format says, unless this engine recorded them.
        policy: the name of the policy that it was recorded under.
        labels: the recorded truths by line number, where they were asked for.
    """

    name: str
    decimals: Literal["ieee", "real"] = "real"
    policy: str = ""
    lines: list[SessionLine] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)


def open_recording(path: Path) -> BinaryIO:
    """The bytes of a recording, unpacked if they are compressed, whatever the file is called.

    Raises:
        OSError: there is no such file, or it is none: a directory, a FIFO, a device.
    """
    return unpacked(open_regular(path))


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """A regular file, opened. Whoever opens a FIFO waits for its other end, and a device may have no end at all."""
    name = os.fspath(path)
    if "\0" in name:
        raise OSError(errno.EINVAL, "no file has such a name", name)
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"Is {kind}, not a file", name)
    return open(descriptor, "rb")


def unpacked(stream: BufferedReader) -> BinaryIO:
    """The stream itself, or its contents, unpacked incrementally."""
    if stream.peek(2)[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(stream, "rb"))
    return stream


def read_sessions(lines: BinaryIO | Iterable[bytes], *, labels: bool = False) -> Iterator[RecordedSession]:
    """The sessions of a recording, each as soon as it is complete."""
    session: RecordedSession | None = None
    size = 0
    for number, length, record in _records(lines):
        size += length
        if record is None and size <= LONGEST_SESSION:
            continue
        if isinstance(record, dict) and record.get("op") == "session":
            if session is not None:
                yield session
            session, size = _begun(number, record), length
            continue
        if session is None:
            session = RecordedSession(f"line {number}")
            if not isinstance(record, FaultyLine):
                session.lines.append(FaultyLine(number, "a recording begins with a `session` line", "header"))
        if size > LONGEST_SESSION:
            session.lines.append(FaultyLine(number, f"a session of more than {LONGEST_SESSION >> 20} MiB"))
            break
        session.lines.append(read_line(number, record) if isinstance(record, dict) else cast(FaultyLine, record))
        if labels and isinstance(record, dict) and isinstance(truth := record.get("truth"), str):
            session.labels[number] = truth
    if session is not None:
        yield session


def _begun(number: int, record: Mapping[str, object]) -> RecordedSession:
    """Read the beginning of a session: a `session` line."""
    name = record.get("name")
    session = RecordedSession(name if isinstance(name, str) else f"line {number}")
    try:
        version = record.get("format")
        if type(version) is not int or version != FORMAT:
            raise ValueError(f"format {_shown(version)}, but this reads {FORMAT}")
        _text_or_none(record, "name")
        if str(_text_or_none(record, "producer")).startswith(PRODUCER):
            session.decimals = "ieee"
        session.policy = _text_or_none(record, "policy") or ""
    except ValueError as error:
        session.lines.append(FaultyLine(number, str(error), "header"))
    return session


def _records(lines: BinaryIO | Iterable[bytes]) -> Iterator[tuple[int, int, dict[str, object] | FaultyLine | None]]:
    """Each line with its length, decoded; a file that breaks off yields its damage as the last line."""
    number = 0
    each = iter(partial(lines.readline, LONGEST_LINE + 1), b"") if isinstance(lines, io.IOBase) else lines
    try:
        for raw in each:
            number += 1
            if len(raw) > LONGEST_LINE:
                yield number, 0, FaultyLine(number, f"a line of more than {LONGEST_LINE >> 20} MiB")
                return
            yield number, len(raw), _decoded(number, raw)
    except (OSError, EOFError, zlib.error) as error:
        yield number + 1, 0, FaultyLine(number + 1, f"the file breaks off: {error}")


def _decoded(number: int, raw: bytes) -> dict[str, object] | FaultyLine | None:
    if not raw.strip():
        return None
    if sum(map(raw.count, (b"[", b"{", b","))) > MOST_VALUES:
        return FaultyLine(number, f"more than {MOST_VALUES:,} values in a line")
    try:
        record = loads(raw)
    except ValueError as error:
        return FaultyLine(number, f"not JSON: {error}")
    return record if isinstance(record, dict) else FaultyLine(number, "not a JSON object")


def read_line(number: int, record: Mapping[str, object]) -> SessionLine:
    """The content of a decoded line."""
    try:
        match record.get("op"):
            case "ask":
                return QuestionLine(number, _text(record, "prop"))
            case "assume":
                return _fact(number, record)
            case "symbol":
                return _symbol(number, record)
            case None:
                return FaultyLine(number, "no `op`")
            case op:
                return FaultyLine(number, f"`op` is {_shown(op)}, not session, symbol, assume or ask")
    except ValueError as error:
        return FaultyLine(number, str(error), "question" if record.get("op") == "ask" else "line")


def _fact(number: int, record: Mapping[str, object]) -> FactLine:
    text, kind, role = _text(record, "prop"), record.get("why", "given"), record.get("as")
    if kind not in ("given", "guard", "assert"):
        raise ValueError(f"`why` is {_shown(kind)}, not given, guard or assert")
    if role not in (None, "range", "hypothesis") or role is not None and kind != "given":
        raise ValueError(f"`as` is {_shown(role)}, not range or hypothesis of a given fact")
    message = _text_or_none(record, "message") or ""
    return FactLine(number, text, kind, role, message, _text_or_none(record, "at"))


def _symbol(number: int, record: Mapping[str, object]) -> SymbolLine:
    name, kind, at = _text(record, "name"), record.get("kind"), _text_or_none(record, "at")
    lo, hi, hint = [_integer(record, key) for key in ("lo", "hi", "hint")]
    if not name.isidentifier():
        raise ValueError(f"`name` is {_shown(name)}, not an identifier")
    if kind not in ("backed", "unbacked"):
        raise ValueError(f"`kind` is {_shown(kind)}, not backed or unbacked")
    source, sources = _text_or_none(record, "source"), record.get("sources", [])
    if not isinstance(sources, list) or not all(isinstance(each, str) for each in sources):
        raise ValueError(f"`sources` is {_shown(sources)}, not a list of texts")
    return SymbolLine(number, name, lo, hi, hint, kind, source, tuple(sources), at)


def _text(record: Mapping[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is {_shown(value)}, not text")
    return value


def _text_or_none(record: Mapping[str, object], key: str) -> str | None:
    return _text(record, key) if record.get(key) is not None else None


def _integer(record: Mapping[str, object], key: str) -> int | None:
    value = record.get(key)
    if value is None or type(value) is int:
        return value
    raise ValueError(f"`{key}` is {_shown(value)}, not an integer or null")


def _shown(value: object) -> str:
    """A value for a message: a few characters of it, however long it is."""
    match value:
        case None | bool() | float():
            return repr(value)
        case int():
            return number_text(value)
        case str():
            return repr(shortened(value))
        case _:
            return "a list" if isinstance(value, list) else "an object"
