"""Backends of symshape: what runs a graph. Frontends hand over a graph of operators; a backend gives back a call.

    >>> from backends import named
    >>> named("eager").__name__
    'backends.eager'
    >>> named("fast")
    Traceback (most recent call last):
    solver.errors.ShapeError: backend='fast': the backends are eager, cpu, triton, and any other as module:object

`backends.backend` says what a backend is, and `backends.testing.conformance` tests whether something is one.
"""

from __future__ import annotations

import os
from functools import reduce
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from backends.backend import AnyBackend


def _require_own_packages() -> None:
    """Check that the packages are our own, by `shapes.siblings` as a file: the path may have another `shapes`."""
    root, siblings = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ModuleType("symshape siblings")
    SourceFileLoader(siblings.__name__, os.path.join(root, "shapes", "siblings.py")).exec_module(siblings)
    siblings.require_own_packages(root)


_require_own_packages()

from shapes.accepted import did_you_mean  # noqa: E402  # and not before that
from shapes.extras import require  # noqa: E402  # and not before that
from solver.errors import ShapeError  # noqa: E402  # and not before that

BACKENDS: Final = ("eager", "cpu", "triton")


class Unreadable(TypeError):
    """A tensor whose memory kernels cannot read: it has none, or does not hold the values as they are."""


def named(name: str) -> AnyBackend:
    """A backend by its name, or as `module:object`.

    Raises:
        ShapeError: there is none of this name, or it lacks an attribute of the protocol.
    """
    if name in BACKENDS:
        require("torch", extra="torch", needed_by=f"the backend {name}")
        ours: AnyBackend = import_module(f"backends.{name}")
        return ours
    module, _, path = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not module or not path:
        known = f"the backends are {', '.join(BACKENDS)}, and any other as module:object"
        raise ShapeError(f"backend={name!r}: {known}{did_you_mean(name, BACKENDS)}")
    try:
        found: AnyBackend = reduce(getattr, path.split("."), import_module(module))
    except (ImportError, AttributeError) as error:
        raise ShapeError(f"backend={name!r}: {error}") from error
    from backends.backend import missing_from

    if missing := missing_from(found):
        raise ShapeError(f"backend={name!r}: a backend has {', '.join(missing)} as well (see backends.backend)")
    return found
