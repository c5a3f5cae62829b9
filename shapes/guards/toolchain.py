"""The C compiler of the machine, and the cache of what it built for later processes.

    >>> from shapes.guards.toolchain import Unavailable, compiler, library
    >>> match compiler():
    ...     case Unavailable(reason):
    ...         result = compiler()
    ...     case command:
    ...         result = library("this is not C", (*command, "-shared"), ".so", load=lambda path: path, known={})
    >>> isinstance(result, Unavailable)
    True

Nothing here is ever an error for the caller: no compiler, one that fails or does not come back, no disk with room, a
file that does not load. Each gives `Unavailable`, with the reason as a sentence.

Environment: `CC` names the compiler; `SYMSHAPE_NATIVE=0` builds nothing; `shapes.guards.library_cache` says where
results are kept. They are named after a hash of all that went into them. They are compiled in the folder for temporary
files.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from shapes.guards import library_cache

SECONDS: Final = 60.0
"""The time limit of a compiler."""
WORKPLACE: Final = "symshape-build-"
"""The prefix of the names of folders that are compiled in."""
NO_ROOM: Final = "No space left on device"
"""The messages of compilers on a full disk."""

Loaded = TypeVar("Loaded")

_supplied: dict[str, bytes] = {}
"""The libraries built by another process and taken as if they had been built here, by the `digest` of all they are made
of.
"""
_made_of: dict[Path, tuple[str, tuple[str, ...], tuple[str, ...], float]] = {}
"""The way each library of this process is built, should the folder of results no longer have it."""
_given_up: dict[tuple[str, ...], str] = {}
"""Compilers that did not come back are not tried again in this process."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A native form that could not be built, and the reason."""

    reason: str


def compiler() -> tuple[str, ...] | Unavailable:
    """The command that compiles C, without options of ours."""
    if os.environ.get("SYMSHAPE_NATIVE", "1") == "0":
        return Unavailable("switched off by SYMSHAPE_NATIVE=0")
    if sys.implementation.name != "cpython" or os.name != "posix":
        return Unavailable(f"not supported with {sys.implementation.name} on {os.name}")
    try:
        chosen = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        return Unavailable(f"CC={os.environ['CC']!r} is not a command: {error}")
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    located = [(found, *options) for command, *options in candidates if (found := shutil.which(command)) is not None]
    if not located:
        return Unavailable(f"no C compiler: {', '.join([command for command, *_ in candidates])} not found on PATH")
    return located[0]


def library(
    source: str,
    command: tuple[str, ...],
    suffix: str,
    *,
    load: Callable[[str], Loaded | Unavailable],
    known: Mapping[Path, Loaded],
    libraries: tuple[str, ...] = (),
    key: str = "",
    seconds: float = SECONDS,
    lasting: bool = False,
) -> tuple[Path, Loaded] | Unavailable:
    """The path of the shared library of this source, and what `load` makes of it; it is built where it is not there.

    `known` is what this process has loaded; `libraries` stand behind the source on the command line; `key` is what else
    the result depends on. What `load` is given is a path for now, unless it is to be `lasting`. A library that was kept
    and does not load is built again.
    """
    try:
        place = library_cache.usable_folder() / f"{digest(source, *command, '', *libraries, key)}{suffix}"
    except OSError as error:
        return Unavailable(f"there is no folder for what is compiled: {error}")
    if place in known:
        return place, known[place]
    _made_of[place] = source, command, libraries, seconds
    content = library_cache.read(place)
    if content is not None:
        loaded = _loaded(content, place.name, load, lasting)
        if not isinstance(loaded, Unavailable):
            return place, loaded
    built = _built(source, command, libraries, seconds)
    if isinstance(built, Unavailable):
        return built
    loaded = _loaded(built, place.name, load, lasting)
    if isinstance(loaded, Unavailable):
        return loaded
    try:
        library_cache.keep(place, built)
    except OSError as error:
        library_cache.not_kept(place, error)
    return place, loaded


def digest(*parts: str) -> str:
    """A name for all of this."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def supply(libraries: Mapping[str, bytes]) -> list[str]:
    """Take libraries that another process has built, by what they are made of, as if they had been built here; those
    that were not known. Whoever calls this has verified the content, and trusts where it is from: it is run."""
    new = [identity for identity in libraries if identity not in _supplied]
    _supplied.update({identity: libraries[identity] for identity in new})
    return new


def withdraw(identities: Iterable[str]) -> None:
    """Forget what was supplied, but for what is loaded already."""
    for identity in identities:
        _supplied.pop(identity, None)


def content_of(place: Path, identity: str) -> bytes | Unavailable:
    """A library that this process has loaded, as it was supplied or built; built again where nothing has kept it."""
    content = _supplied.get(identity) or library_cache.read(place)
    if content is not None:
        return content
    made_of = _made_of.get(place)
    return Unavailable(f"{place} is not kept") if made_of is None else _built(*made_of)


def supplied(
    identity: str, suffix: str, *, load: Callable[[str], Loaded | Unavailable], known: Mapping[Path, Loaded]
) -> tuple[Path, Loaded] | None:
    """A library that was supplied and what `load` makes of it, under a name that is no file; None where there is none,
    it does not load, or nothing built is wanted."""
    content = _supplied.get(identity)
    if content is None or os.environ.get("SYMSHAPE_NATIVE", "1") == "0":
        return None
    # what was loaded of one content is not taken for another
    place = Path(f"{identity}-{hashlib.sha256(content).hexdigest()[:32]}{suffix}")
    if place in known:
        return place, known[place]
    loaded = _loaded(content, place.name, load, False)
    return None if isinstance(loaded, Unavailable) else (place, loaded)


def _loaded(
    content: bytes, name: str, load: Callable[[str], Loaded | Unavailable], lasting: bool
) -> Loaded | Unavailable:
    """The result of `load` for this content: from memory, or where a system does not allow that from a file."""
    forms = [library_cache.in_a_file(content, name, lasting=lasting)]
    if not lasting:
        forms.insert(0, library_cache.in_memory(content, name))
    result: Loaded | Unavailable = Unavailable("")
    for form in forms:
        try:
            with form as path:
                result = load(path)
        except OSError as error:
            result = Unavailable(f"it cannot be loaded: {error}")
        if not isinstance(result, Unavailable):
            return result
    return result


def _built(source: str, command: tuple[str, ...], libraries: tuple[str, ...], seconds: float) -> bytes | Unavailable:
    """Compile, in the folder for temporary files; where that has no room, in the one of the results."""
    if command in _given_up:
        return Unavailable(_given_up[command])
    result: bytes | Unavailable = Unavailable("there is no folder to compile in")
    for parent in _workplaces():
        try:
            result = _compile(source, command, libraries, parent, seconds)
        except (OSError, ValueError) as error:
            result = Unavailable(f"{command[0]} cannot be run in {parent}: {error}")
            continue
        if isinstance(result, bytes) or NO_ROOM not in result.reason:
            break
    return result


def _workplaces() -> Iterator[Path]:
    """Folders to compile in."""
    try:
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent)
        yield parent
        yield library_cache.cache_folder()
    except OSError:
        return


@cache
def _remove_abandoned(parent: Path) -> None:
    """Remove the files that killed processes left in compiling; once."""
    library_cache.remove_abandoned(parent, (WORKPLACE,))


def _compile(
    source: str, command: tuple[str, ...], libraries: tuple[str, ...], parent: Path, seconds: float
) -> bytes | Unavailable:
    """The library. The compiler runs in a group of its own, so that all of it can be ended."""
    with tempfile.TemporaryDirectory(prefix=WORKPLACE, dir=parent, ignore_cleanup_errors=True) as work:
        os.chmod(work, 0o700)
        text, result, messages = Path(work, "source.c"), Path(work, "library.so"), Path(work, "messages")
        for file in (text, messages):
            file.touch()
            file.chmod(0o600)  # whatever the umask is
        text.write_text(source)
        full_command = [*command, "-o", str(result), str(text), *libraries]
        with messages.open("wb") as output:
            process = subprocess.Popen(
                full_command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=work,
                start_new_session=True,
                umask=0o077,
            )
            try:
                status = process.wait(seconds)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                reason = f"{command[0]} took longer than {seconds:g} s"
                _given_up[command] = reason
                return Unavailable(reason)
        if status or not result.exists():
            lines = messages.read_text(errors="replace").strip().splitlines() or ["no message"]
            message = next((line for line in lines if NO_ROOM in line), None)
            message = message or next((line for line in lines if "error" in line), lines[0])
            return Unavailable(f"{command[0]} failed with status {status}: {message}")
        built = result.read_bytes()
    if not _is_whole(built):
        return Unavailable(f"{command[0]} left a library that is cut short: {NO_ROOM}")
    return built


def _is_whole(built: bytes) -> bool:
    """Return True if an ELF file reaches to the end of its table of sections, which linkers write last.

    The loader does not look: it maps what the file says it has, and the first access behind its end is a SIGBUS.
    """
    if not built.startswith(b"\x7fELF\2\1"):  # 64 bits, the lowest byte first
        return True
    if len(built) < 64:
        return False
    (start,), (size, number) = struct.unpack_from("<Q", built, 0x28), struct.unpack_from("<HH", built, 0x3A)
    return bool(start + size * number <= len(built))
