"""The C compiler of the machine, and the folder in which its results are kept for later processes.

    >>> from shapes.toolchain import Unavailable, compiler, library
    >>> match compiler():
    ...     case Unavailable(reason):
    ...         result = compiler()
    ...     case command:
    ...         result = library("this is not C", (*command, "-shared"), ".so", load=lambda path: path)
    >>> isinstance(result, Unavailable)
    True

Nothing here is ever an error for the caller: no compiler, one that fails or does not come back, a cache that cannot be
written or that others can write to, a file that does not load. Each gives `Unavailable`, with the reason as a sentence.

Environment: `CC` names the compiler; `SYMSHAPE_NATIVE=0` builds nothing; `SYMSHAPE_CACHE` is the folder of the results,
by default `symshape` under `$XDG_CACHE_HOME` or `~/.cache`. Files are named after a hash of all that went into them and
put in place by one rename, so that any number of processes may build the same one at the same time.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

SECONDS: Final = 20.0
"""How long a compiler may take."""

Loaded = TypeVar("Loaded")

_given_up: dict[tuple[str, ...], str] = {}
"""Compilers that did not come back are not tried again in this process."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there is no native form."""

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
    load: Callable[[Path], Loaded | Unavailable],
    libraries: tuple[str, ...] = (),
    key: str = "",
    seconds: float = SECONDS,
) -> Loaded | Unavailable:
    """What `load` makes of the shared library of this source: of the one in the cache, or of one built now.

    `libraries` stand behind the source on the command line; `key` is what else the result depends on. A file in the
    cache that does not load is built again.
    """
    try:
        folder = cache_folder()
        place = folder / f"{digest(source, *command, '', *libraries, key)}{suffix}"
        loaded = load(place) if place.exists() else Unavailable("not built yet")
        if isinstance(loaded, Unavailable):
            loaded = _compile(source, command, libraries, place, seconds) or load(place)
    except (OSError, ValueError) as error:
        return Unavailable(f"the cache cannot be used: {error}")
    return loaded


def digest(*parts: str) -> str:
    """A name for all of this."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def cache_folder() -> Path:
    """The cache, created if need be.

    Raises:
        OSError: it cannot be created, or is not ours alone to write to.
    """
    named = os.environ.get("SYMSHAPE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    folder = Path(named) if named else root / "symshape"
    if not folder.is_absolute():
        raise FileNotFoundError(f"{folder} is not an absolute path: there is no home folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{folder} can be written by others, and what is in it would be run")
    return folder


def _compile(
    source: str, command: tuple[str, ...], libraries: tuple[str, ...], place: Path, seconds: float
) -> Unavailable | None:
    """Build the library, put it in place. The compiler runs in a group of its own, so that all of it can be ended."""
    if command in _given_up:
        return Unavailable(_given_up[command])
    with tempfile.TemporaryDirectory(prefix="build-", dir=place.parent, ignore_cleanup_errors=True) as work:
        text, result, messages = Path(work, "source.c"), Path(work, "library.so"), Path(work, "messages")
        text.write_text(source)
        whole = [*command, "-o", str(result), str(text), *libraries]
        with messages.open("wb") as output:
            process = subprocess.Popen(
                whole, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=work, start_new_session=True
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
            said = messages.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            told = next((line for line in said if "error" in line), said[0])
            return Unavailable(f"{command[0]} failed with status {status}: {told}")
        os.replace(result, place)
    return None
