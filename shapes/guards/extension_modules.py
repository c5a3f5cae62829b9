"""Extension modules of compiled guards, built by the system's C compiler and kept for later processes.

    >>> from shapes.guards.extension_modules import build
    >>> from shapes.guards.toolchain import Unavailable
    >>> match build("this is not C"):
    ...     case Unavailable(reason):
    ...         print("not built")
    not built

As in `shapes.guards.toolchain`, nothing here is ever an error for the caller; it may also be that Python's headers are
not installed. Each failure gives `Unavailable`, with the reason as a sentence.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Final

from shapes.guards.arguments import Accepts
from shapes.guards.toolchain import SECONDS, Unavailable, compiler, digest, library, supplied

MODULE: Final = "symshape_check"
FLAGS: Final = ("-O2", "-fPIC", "-w", "-fno-semantic-interposition")

Bind = Callable[[Accepts], Accepts]

_loaded: dict[Path, Bind] = {}
identities: Final[dict[Path, str]] = {}
"""The contents that each loaded module was built from, whatever compiler built it."""


def build(source: str, *, seconds: float = SECONDS) -> Bind | Unavailable:
    """The `bind` function of the module with this C source: from this process, from the cache, or built now."""
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    key = f"{sys.version} {sysconfig.get_platform()}"
    identity = digest(source, suffix, key)
    found = supplied(identity, suffix, load=_load, known=_loaded) or _built(source, suffix, key, seconds)
    if isinstance(found, Unavailable):
        return found
    place, bind = found
    _loaded[place], identities[place] = bind, identity
    return bind


def _built(source: str, suffix: str, key: str, seconds: float) -> tuple[Path, Bind] | Unavailable:
    command = extension_command()
    if isinstance(command, Unavailable):
        return command
    return library(source, command, suffix, load=_load, known=_loaded, key=key, seconds=seconds)


def extension_command() -> tuple[str, ...] | Unavailable:
    """The command that compiles an extension module, without file names."""
    command = compiler()
    if isinstance(command, Unavailable):
        return command
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        return Unavailable(f"Python's headers are not installed (no Python.h in {include})")
    linked = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
    return (*command, *linked, f"-I{include}", *FLAGS)


def _load(place: str) -> Bind | Unavailable:
    loader = importlib.machinery.ExtensionFileLoader(MODULE, place)
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
