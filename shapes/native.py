"""Building and loading small extension modules with the system's C compiler; a result is kept for later processes.

    >>> from shapes.native import Unavailable, build
    >>> match build("this is not C"):
    ...     case Unavailable(reason):
    ...         print("not built")
    not built

Nothing here is ever an error for the caller: no compiler, one that fails or does not come back, headers that are not
installed, a cache that cannot be written or that others can write to, a file that does not load. Each gives
`Unavailable`, with the reason as a sentence.

Environment: `CC` names the compiler; `SYMSHAPE_NATIVE=0` builds nothing; `SYMSHAPE_CACHE` is the folder of the results,
by default `symshape` under `$XDG_CACHE_HOME` or `~/.cache`. Modules are named after a hash of all that went into them
and put in place by one rename, so that any number of processes may build the same one at the same time.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shapes.arguments import Accepts

MODULE: Final = "symshape_check"
FLAGS: Final = ("-O2", "-fPIC", "-w", "-fno-semantic-interposition")
SECONDS: Final = 20.0
"""How long a compiler may take."""

Bind = Callable[[Accepts], Accepts]

_loaded: dict[str, Bind] = {}
_given_up: dict[tuple[str, ...], str] = {}
"""Compilers that did not come back are not tried again in this process."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there is no native form."""

    reason: str


def build(source: str, *, seconds: float = SECONDS) -> Bind | Unavailable:
    """The `bind` function of the module with this C source: from this process, from the cache, or built now."""
    toolchain = _toolchain()
    if isinstance(toolchain, Unavailable):
        return toolchain
    digest = hashlib.sha256(
        "\0".join([source, *toolchain, *FLAGS, sys.version, sysconfig.get_platform()]).encode()
    ).hexdigest()[:32]
    if digest in _loaded:
        return _loaded[digest]
    try:
        folder = _folder()
        place = folder / f"{digest}{importlib.machinery.EXTENSION_SUFFIXES[0]}"
        bind = _load(place) if place.exists() else Unavailable("not built yet")
        if isinstance(bind, Unavailable):
            failure = _compile(source, toolchain, folder, place, seconds)
            bind = failure or _load(place)
    except (OSError, ValueError) as error:
        return Unavailable(f"the cache cannot be used: {error}")
    if not isinstance(bind, Unavailable):
        _loaded[digest] = bind
    return bind


def _toolchain() -> tuple[str, ...] | Unavailable:
    """The command that compiles, without file names."""
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
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        return Unavailable(f"Python's headers are not installed (no Python.h in {include})")
    linked = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
    return (*located[0], *linked, f"-I{include}")


def _folder() -> Path:
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


def _compile(source: str, toolchain: tuple[str, ...], folder: Path, place: Path, seconds: float) -> Unavailable | None:
    """Build the module and put it in place. The compiler runs in a group of its own, so that all of it can be ended."""
    if toolchain in _given_up:
        return Unavailable(_given_up[toolchain])
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder, ignore_cleanup_errors=True) as work:
        text, result, messages = Path(work, "check.c"), Path(work, "check.so"), Path(work, "messages")
        text.write_text(source)
        command = [*toolchain, *FLAGS, "-o", str(result), str(text)]
        with messages.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=work, start_new_session=True
            )
            try:
                status = process.wait(seconds)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                reason = f"{toolchain[0]} took longer than {seconds:g} s"
                _given_up[toolchain] = reason
                return Unavailable(reason)
        if status or not result.exists():
            said = messages.read_text(errors="replace").strip().splitlines()
            return Unavailable(f"{toolchain[0]} failed with status {status}: {said[0] if said else 'it said nothing'}")
        os.replace(result, place)
    return None


def _load(place: Path) -> Bind | Unavailable:
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(place))
    specification = importlib.util.spec_from_file_location(MODULE, place, loader=loader)
    if specification is None:
        return Unavailable(f"{place} cannot be loaded")
    try:
        module = importlib.util.module_from_spec(specification)
        loader.exec_module(module)
        bind: Bind = module.bind
    except (ImportError, AttributeError) as error:
        return Unavailable(f"{place} cannot be loaded: {error}")
    return bind
