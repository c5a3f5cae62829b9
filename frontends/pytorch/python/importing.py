"""First imports of modules by a traced program happen outside of the trace.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def f(x):
    ...     from colorsys import ONE_THIRD
    ...     return x * ONE_THIRD
    >>> len(trace(f, (torch.ones(3),)).graph(torch.ones(5))[0])
    5

An import has side effects once in a process: it fills registries, creates tensors, initializes state. A trace would
undo them, and take such tensors for its own. So at a first import by the program, the trace is aborted, the module is
imported, and the trace restarts. Lazy imports by torch are done in place, with the trace suspended.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Final

from frontends.pytorch.python.ran import STATELESS, unwatched
from frontends.pytorch.source_location import is_users
from shapes.origin import FRAMEWORK

IMPORTING: Final = ("<frozen importlib", importlib.__file__)
_tried: Final[set[str]] = set()


class FirstImport(BaseException):
    """A traced program imports a new module. A BaseException, which the program's `except Exception` does not catch."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def is_first(name: str, frame: FrameType | None) -> bool:
    """Whether the program imports a module for the first time, except ours, torch's and the standard library's."""
    while frame is not None and frame.f_code.co_filename.startswith(IMPORTING):
        frame = frame.f_back
    if frame is None or name in _tried:
        return False
    file = frame.f_code.co_filename
    return is_users(file) and not file.startswith((*FRAMEWORK, *STATELESS))


def import_first(name: str) -> None:
    """Import a module; an error will be raised again at the program's import."""
    _tried.add(name)
    with unwatched(), suppress(Exception):
        importlib.import_module(name)


def imported(name: str, package: str) -> Iterable[str]:
    """The modules that an import may refer to: by absolute name, or relative to the package."""
    yield name
    while package:
        yield f"{package}.{name}" if name else package
        package = package.rpartition(".")[0]
