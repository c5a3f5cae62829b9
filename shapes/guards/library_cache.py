"""The folder in which built libraries are kept for later processes. What is in it is run, so all of it is suspected.

    >>> import tempfile
    >>> from pathlib import Path
    >>> place = Path(tempfile.mkdtemp()) / "0123.so"
    >>> keep(place, b"what a compiler built")
    >>> read(place)
    b'what a compiler built'
    >>> place.write_bytes(place.read_bytes().replace(b"built", b"burnt")) > 0
    True
    >>> read(place) is None
    True

A file is the library, and behind it its length and the hash of its name and content: one that was cut short, altered or
put under another's name is taken for none, and built again. It is written under a name of its own, brought to the disk
and renamed, so that any number of processes may build the same one, and be killed while they do. What is loaded is not
the file but the content that was verified, from memory that only this process has: a file that is cut short later on
would end every process that has mapped it (SIGBUS).

The folder must belong to the user, and nobody else may write to it; so must each file, which must be a file. Where it
cannot be used, a folder of this process takes its place, with one warning. The libraries that have not been used for
longest go when all of them are larger than a limit.

Environment: `SYMSHAPE_CACHE` is the folder, by default `symshape` under `$XDG_CACHE_HOME` or `~/.cache`;
`SYMSHAPE_CACHE_MIB` is the limit, by default 1,024.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

from shapes.folders import base_folder, make_private

LIMIT: Final = 1024
"""The limit of the size of all libraries, in MiB, where no variable sets another."""
LARGEST: Final = 2**28
"""No library is larger; what is, is not even read."""
ABANDONED: Final = 3600.0
"""A temporary file or folder as many seconds old belongs to a process that was killed: no compiler may take as long."""

_MARK: Final = b"symshape"
_TRAILER: Final = struct.Struct("<8sQ32s")
_LIBRARY: Final = re.compile(r"[0-9a-f]{32}\.")
_TEMPORARY: Final = ("build-", "part-")

_serial: Final = count(1)
_unswept: Final[dict[Path, int]] = {}
"""The bytes put into each folder since its last sweep."""


def usable_folder() -> Path:
    """The cache; where it cannot be used, with one warning, a folder that ends with this process.

    Raises:
        OSError: neither can be made.
    """
    try:
        return cache_folder()
    except OSError as error:
        folder = private_folder()
        _warn(str(error))
        return folder


def cache_folder() -> Path:
    """The cache, created if need be.

    Raises:
        OSError: it cannot be created, or is not ours alone to write to.
    """
    named = os.environ.get("SYMSHAPE_CACHE")
    folder = Path(named) if named else base_folder("XDG_CACHE_HOME", ".cache") / "symshape"
    if not folder.is_absolute():
        raise FileNotFoundError(f"{folder} is not an absolute path")
    make_private(folder)
    status = folder.stat()
    if not _ours_alone(status):
        raise PermissionError(f"{folder} can be written by others, and what is in it would be run")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be read")
    return folder


@cache
def private_folder() -> Path:
    """A folder of this process, removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="symshape-kept-"))
    folder.chmod(0o700)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not in a process that was forked off it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def read(place: Path) -> bytes | None:
    """The library that was kept here; None where there is none, or what is there is not as it was written."""
    try:
        # neither follows a link nor waits for somebody to write into a pipe
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _ours_alone(status) or status.st_size > LARGEST:
            return None
        with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
            data = file.read(LARGEST)
        content = data[: -_TRAILER.size]
        if data[len(content) :] != _trailer(place.name, content):
            return None
        with suppress(OSError):  # a disk that is only read
            os.utime(handle)  # used: the others go first
        return content
    except OSError:
        return None
    finally:
        os.close(handle)


def keep(place: Path, content: bytes) -> None:
    """Put a library where `read` finds it.

    Raises:
        OSError: the folder cannot be written, or the disk is full; then nothing is left behind.
    """
    handle, part = tempfile.mkstemp(prefix="part-", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, 0o600)
            file.write(content + _trailer(place.name, content))
            file.flush()
            os.fsync(handle)
        try:
            os.replace(part, place)
        except IsADirectoryError:
            os.rename(place, f"{part}-folder")
            shutil.rmtree(f"{part}-folder", ignore_errors=True)
            os.replace(part, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    fresh = place.parent not in _unswept
    _unswept[place.parent] = _unswept.get(place.parent, 0) + len(content)
    if fresh or _unswept[place.parent] > limit() // 16:
        _unswept[place.parent] = 0
        sweep(place.parent, limit())


def not_kept(place: Path, error: OSError) -> None:
    """Say, once, why later processes will build this again."""
    _warn(f"{place.parent} cannot be written: {error.strerror or error}")


def sweep(folder: Path, most: int) -> None:
    """Remove what killed processes left, and of the libraries those unused for longest, down to so many bytes."""
    remove_abandoned(folder, _TEMPORARY)
    libraries, total = [], 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _LIBRARY.match(entry.name):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        size = min(status.st_size, 512 * status.st_blocks)  # a file may say more than it has
                        libraries.append((status.st_mtime_ns, size, entry.path))
                        total += size
    for _, size, path in sorted(libraries):
        if total <= most:
            break
        total -= size
        with suppress(OSError):
            os.unlink(path)


def remove_abandoned(folder: Path, prefixes: tuple[str, ...]) -> None:
    """Remove what begins with one of these and was left by processes that were killed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefixes):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_uid == os.geteuid() and abs(time.time() - status.st_mtime) > ABANDONED:
                        if stat.S_ISDIR(status.st_mode):
                            shutil.rmtree(entry.path, ignore_errors=True)
                        else:
                            os.unlink(entry.path)


def limit() -> int:
    """The limit of the size of all libraries, in bytes."""
    named = os.environ.get("SYMSHAPE_CACHE_MIB", "")
    if named and not named.isdecimal():
        _warn(f"SYMSHAPE_CACHE_MIB={named!r} is not a number of MiB; it is taken for {LIMIT}", kept=True)
    return (int(named) if named.isdecimal() else LIMIT) * 2**20


@contextmanager
def in_memory(content: bytes, name: str) -> Iterator[str]:
    """A path by which the loader finds this content, which no other process can alter; it need not exist afterwards.

    The loader takes a path that it has seen for the library that it has loaded from there, and numbers of files come
    again. So each path has other numbers of slashes.

    Raises:
        OSError: this system has no such files, or does not let them be run.
    """
    if not hasattr(os, "memfd_create"):
        raise OSError("no files in memory here")
    handle = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
        more, few = divmod(next(_serial), 64)
        yield f"/proc{'/' * (1 + few)}self{'/' * (1 + more % 64)}fd{'/' * (1 + more // 64)}{handle}"
    finally:
        os.close(handle)


@contextmanager
def in_a_file(content: bytes, name: str, *, lasting: bool = False) -> Iterator[str]:
    """The same where there are no files in memory, by a file of this process; `lasting` ones stay to its end.

    Raises:
        OSError: it cannot be written.
    """
    path = private_folder() / f"{next(_serial)}-{name}"
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700), "wb") as file:
            os.fchmod(file.fileno(), 0o700)
            file.write(content)
        yield str(path)
    finally:
        if not lasting:
            path.unlink(missing_ok=True)


def _trailer(name: str, content: bytes) -> bytes:
    return _TRAILER.pack(_MARK, len(content), hashlib.sha256(name.encode() + b"\0" + content).digest())


def _ours_alone(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _warn(reason: str, *, kept: bool = False) -> None:
    """Warn once for each reason."""
    end = "" if kept else "; each process builds its own. Name another folder in SYMSHAPE_CACHE"
    message = reason if kept else f"compiled code is not kept for later processes: {reason}"
    warnings.warn(message + end, RuntimeWarning, stacklevel=3)
