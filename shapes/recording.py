"""Recorded sessions, read line by line: one session at a time, each line understood or a fault with its number.

The format is described in `benchmarks/corpus/CORPUS.md`. `truth` is looked at only with `labels=True`.

>>> text = b'''{"op":"session","format":1,"name":"one"}
... {"op":"symbol","name":"s","kind":"backed","hint":4,"lo":0,"hi":null,"source":null}
... {"op":"ask","prop":"s >= 0","count":1,"commits":true,"truth":"always"}
... {"op":"assume","prop":7}'''
>>> for session in read_sessions(text.splitlines()):
...     print(session.name, *session.lines, sep="\\n")
one
SymbolLine(number=2, name='s', lo=0, hi=None, hint=4)
QuestionLine(number=3, text='s >= 0')
FaultyLine(number=4, message='`prop` is 7, not text')
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast

FORMAT = 1
PRODUCER = "symshape"


class SymbolLine(NamedTuple):
    number: int
    name: str
    lo: int | None
    hi: int | None
    hint: int | None


class FactLine(NamedTuple):
    number: int
    text: str
    kind: Literal["given", "guard", "assert"]


class QuestionLine(NamedTuple):
    number: int
    text: str


class FaultyLine(NamedTuple):
    """A line that cannot be understood."""

    number: int
    message: str


SessionLine = SymbolLine | FactLine | QuestionLine | FaultyLine


@dataclass(slots=True)
class RecordedSession:
    """One session.

    Attributes:
        decimals: how to read decimals: as real numbers, as the format says, unless this engine recorded them.
        labels: the recorded truths by line number, where they were asked for.
    """

    name: str
    decimals: Literal["ieee", "real"] = "real"
    lines: list[SessionLine] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)


def open_recording(path: Path) -> BinaryIO:
    """The bytes of a recording, unpacked if they are compressed, whatever the file is called."""
    return unpacked(path.open("rb"))


def unpacked(stream: BufferedReader) -> BinaryIO:
    """The stream itself, or what it unpacks to."""
    if stream.peek(2)[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(stream, "rb"))
    return stream


def read_sessions(lines: Iterable[bytes], *, labels: bool = False) -> Iterator[RecordedSession]:
    """The sessions of a recording, each as soon as it is complete."""
    session: RecordedSession | None = None
    for number, record in _records(lines):
        if record is None:
            continue
        if isinstance(record, dict) and record.get("op") == "session":
            if session is not None:
                yield session
            name, version = record.get("name"), record.get("format", FORMAT)
            session = RecordedSession(name if isinstance(name, str) else f"line {number}")
            if str(record.get("producer")).startswith(PRODUCER):
                session.decimals = "ieee"
            if version != FORMAT:
                session.lines.append(FaultyLine(number, f"format {version!r}, but this reads {FORMAT}"))
            continue
        if session is None:
            session = RecordedSession(f"line {number}")
            session.lines.append(FaultyLine(number, "a recording begins with a `session` line"))
        session.lines.append(record if isinstance(record, FaultyLine) else read_line(number, record))
        if labels and isinstance(record, dict) and isinstance(truth := record.get("truth"), str):
            session.labels[number] = truth
    if session is not None:
        yield session


def _records(lines: Iterable[bytes]) -> Iterator[tuple[int, dict[str, object] | FaultyLine | None]]:
    """Each line decoded; a file that breaks off yields its damage as the last line."""
    number = 0
    try:
        for raw in lines:
            number += 1
            yield number, _decoded(number, raw)
    except (OSError, EOFError, zlib.error) as error:
        yield number + 1, FaultyLine(number + 1, f"the file breaks off: {error}")


def _decoded(number: int, raw: bytes) -> dict[str, object] | FaultyLine | None:
    if not raw.strip():
        return None
    try:
        record: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return FaultyLine(number, f"not JSON: {error}")
    return record if isinstance(record, dict) else FaultyLine(number, "not a JSON object")


def read_line(number: int, record: Mapping[str, object]) -> SessionLine:
    """What a decoded line says."""
    try:
        match record.get("op"):
            case "ask":
                return QuestionLine(number, _text(record, "prop"))
            case "assume":
                kind = record.get("why", "given")
                if kind not in ("given", "guard", "assert"):
                    return FaultyLine(number, f"`why` is {kind!r}, not given, guard or assert")
                return FactLine(number, _text(record, "prop"), kind)
            case "symbol":
                bounds = [_integer(record, key) for key in ("lo", "hi", "hint")]
                return SymbolLine(number, _text(record, "name"), *bounds)
            case None:
                return FaultyLine(number, "no `op`")
            case op:
                return FaultyLine(number, f"`op` is {op!r}, not session, symbol, assume or ask")
    except ValueError as error:
        return FaultyLine(number, str(error))


def _text(record: Mapping[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is {value!r}, not text")
    return value


def _integer(record: Mapping[str, object], key: str) -> int | None:
    value = record.get(key)
    if value is None or type(value) is int:
        return value
    raise ValueError(f"`{key}` is {value!r}, not an integer or null")
