"""The artifact file of `save`: a JSON description, then shared libraries. The reader trusts none of it.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.artifact")
    >>> write(path, {"name": "f", "libraries": []}, [])
    >>> read(path)
    ({'name': 'f', 'libraries': []}, {})
    >>> with open(path, "r+b") as file:
    ...     file.truncate(60)
    60
    >>> read(path)
    Traceback (most recent call last):
    frontends.pytorch.errors.WrongArtifact: .../model.artifact: it is truncated or modified
      fix:    save it again; load it from where only you can write

Layout: `MAGIC`, the format version, the lengths of the description and of all libraries, the description, the
concatenated libraries, and the SHA-256 of all that. No part names a file, and no part is a pickle. The libraries are
machine code that is executed: the hash proves integrity, not authorship. So, like a program, a file is accepted only if
nobody but the user or the administrator can have written it. It is read once; the verified bytes are those that are
used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import struct
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NoReturn, TypeVar

from frontends.pytorch.errors import ConstraintViolation, WrongArtifact, refusal

FORMAT: Final = 2
MAGIC: Final = b"symshape artifact\n"
HEADER: Final = struct.Struct("<IQQ")
HASH: Final = hashlib.sha256().digest_size
LARGEST: Final = 2**30
"""The maximal size of a file in bytes."""
LARGEST_TEXT: Final = 2**26
"""The maximal size of its description in bytes."""
DEEPEST: Final = 64
"""The maximal nesting of lists and objects."""
AGAIN: Final = "save it again; load it from where only you can write"
IDENTITY: Final = re.compile(r"[0-9a-f]{32}")
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)

Kind = TypeVar("Kind")


def write(path: str | os.PathLike[str], described: Mapping[str, object], libraries: Sequence[bytes]) -> None:
    """Write an artifact file atomically.

    Raises:
        ConstraintViolation: it cannot be written, or is too large.
    """
    text = json.dumps(described, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    sections = [MAGIC, HEADER.pack(FORMAT, len(text), sum(map(len, libraries))), text, *libraries]
    content = b"".join(sections)
    name = os.fspath(path)
    if len(content) + HASH > LARGEST or len(text) > LARGEST_TEXT:
        what = f"save({name!r}): {len(content)} bytes"
        raise ConstraintViolation(refusal(what, f"at most {LARGEST} are read again", None))
    write_whole(name, content + hashlib.sha256(content).digest(), f"save({name!r})")


def write_whole(name: str, content: bytes, asked: str) -> None:
    """Write a file atomically.

    Raises:
        ConstraintViolation: it cannot be written.
    """
    part = None
    try:
        handle, part = tempfile.mkstemp(prefix=".part-", dir=os.path.dirname(os.path.abspath(name)))
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        os.replace(part, name)
    except OSError as error:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)
        what = f"{asked}: {error.strerror or error}"
        raise ConstraintViolation(refusal(what, "a path in a folder that you can write to", None)) from None


def read(path: str | os.PathLike[str]) -> tuple[dict[str, object], dict[str, bytes]]:
    """Read the description, and the libraries by their identities.

    Raises:
        WrongArtifact: it was altered, or others may have written it.
    """
    name = os.fspath(path)
    data = content_of(name)
    if not data.startswith(MAGIC):
        refuse(name, "it is not an artifact of symshape", "the path that `compiled.save` was given")
    start = len(MAGIC) + HEADER.size
    if len(data) < start + HASH:
        refuse(name, "it is truncated or modified", AGAIN)
    version, text_size, rest_size = HEADER.unpack_from(data, len(MAGIC))
    if version != FORMAT:
        refuse(name, f"it has format {version}, this symshape reads {FORMAT}", "save it again with this symshape")
    if start + text_size + rest_size + HASH != len(data) or data[-HASH:] != hashlib.sha256(data[:-HASH]).digest():
        refuse(name, "it is truncated or modified", AGAIN)
    if text_size > LARGEST_TEXT:
        refuse(name, f"its description has {text_size} bytes, of at most {LARGEST_TEXT}", AGAIN)
    described = parsed(name, data[start : start + text_size])
    return described, _libraries(name, described, data[start + text_size : -HASH])


def refuse(name: str, what: str, fix: str) -> NoReturn:
    """Reject a file with a reason.

    Raises:
        WrongArtifact: always.
    """
    raise WrongArtifact(refusal(f"{name}: {what}", fix, None)) from None


def of_kind(name: str, kind: type[Kind], value: object, what: str) -> Kind:
    """A part of a description, checked to be of this class.

    Raises:
        WrongArtifact: it is not.
    """
    if type(value) is not kind:
        refuse(name, f"{what} is malformed", AGAIN)
    return value


def entry(name: str, described: Mapping[str, object], key: str, kind: type[Kind]) -> Kind:
    """The value of a key in a description, checked to be of this class.

    Raises:
        WrongArtifact: it is not, or there is none.
    """
    return of_kind(name, kind, described.get(key), f"`{key}` in its description")


def content_of(name: str) -> bytes:
    """The content of a file that only the user or the administrator can have written.

    Raises:
        WrongArtifact: others may have, or it cannot be read.
    """
    try:
        # must not block on a pipe
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        refuse(name, f"it cannot be read: {getattr(error, 'strerror', None) or error}", "the path of a saved file")
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            refuse(name, "it is not a regular file", "the path that `compiled.save` was given")
        if status.st_uid not in (os.geteuid(), 0):
            refuse(name, "it belongs to another user, and its code would be executed", "a copy of your own")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            refuse(name, "others can write to it, and its code would be executed", f"chmod go-w {name}")
        if status.st_size > LARGEST:
            refuse(name, f"it has {status.st_size} bytes, of at most {LARGEST}", AGAIN)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        refuse(name, f"it cannot be read: {error.strerror or error}", AGAIN)
    finally:
        os.close(handle)


def parsed(name: str, text: bytes) -> dict[str, object]:
    """Parse a JSON object strictly.

    Raises:
        WrongArtifact: it is none.
    """
    depth = 0
    for opened, closed in _BRACKETS.findall(text):
        depth += bool(opened) - bool(closed)
        if depth > DEEPEST:
            refuse(name, f"its description is nested deeper than {DEEPEST}", AGAIN)

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a name comes twice")
        return dict(pairs)

    def no_constant(text: str) -> NoReturn:
        raise ValueError(f"{text} is no number")

    try:
        found = json.loads(text.decode("ascii"), object_pairs_hook=once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        refuse(name, f"its description cannot be read: {error}", AGAIN)
    return of_kind(name, dict, found, "its description")


def _libraries(name: str, described: Mapping[str, object], content: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    start = 0
    for each in entry(name, described, "libraries", list):
        library = of_kind(name, dict, each, "a library in its description")
        identity = entry(name, library, "identity", str)
        size = entry(name, library, "size", int)
        if not IDENTITY.fullmatch(identity) or identity in found or not 0 <= size <= len(content) - start:
            refuse(name, "the libraries in it are not those of its description", AGAIN)
        library_content = content[start : start + size]
        if hashlib.sha256(library_content).hexdigest() != entry(name, library, "hash", str):
            refuse(name, f"the library {identity} in it has another hash than its description says", AGAIN)
        found[identity] = library_content
        start += size
    if start != len(content):
        refuse(name, "the libraries in it are not those of its description", AGAIN)
    return found
