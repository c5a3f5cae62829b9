"""Backends of symshape: what runs a graph. Frontends hand over a graph of operators; a backend gives back a call.

    >>> from backends import named
    >>> named("eager").__name__
    'backends.eager'
    >>> named("fast")
    Traceback (most recent call last):
    solver.errors.ShapeError: backend='fast': the backends are eager, cpu, triton
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Final


def _require_own_packages() -> None:
    """As `shapes.siblings` has it, which is loaded as a file: whose `shapes` the path gives is part of the question."""
    root, siblings = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ModuleType("symshape siblings")
    SourceFileLoader(siblings.__name__, os.path.join(root, "shapes", "siblings.py")).exec_module(siblings)
    siblings.require_own_packages(root)


_require_own_packages()

from shapes.accepted import did_you_mean  # noqa: E402  # and not before that
from solver.errors import ShapeError  # noqa: E402  # and not before that

BACKENDS: Final = ("eager", "cpu", "triton")


class Unreadable(TypeError):
    """A tensor whose memory kernels cannot read: it has none, or does not hold the values as they are."""


def named(name: str) -> ModuleType:
    """A backend by its name: a module with a `runner` from a graph to a call.

    Raises:
        ShapeError: there is none of this name.
    """
    if name not in BACKENDS:
        raise ShapeError(f"backend={name!r}: the backends are {', '.join(BACKENDS)}{did_you_mean(name, BACKENDS)}")
    try:
        return import_module(f"backends.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"backends.{name}":
            raise
        raise ShapeError(f"backend={name!r} is not there yet; backend='eager' runs every graph") from None
