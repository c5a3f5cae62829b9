"""symshape under its own name: the public names of `shapes`, loaded when they are first used.

    >>> import symshape
    >>> from symshape import Always, ShapeEnv
    >>> env = ShapeEnv()
    >>> s = env.symbol("s", lo=1)
    >>> isinstance(env.ask(s * s >= s), Always), symshape.ShapeEnv is ShapeEnv
    (True, True)

The packages keep their names: what is not listed here is imported from `shapes`, `backends` and `frontends`.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING


def _require_own_packages() -> None:
    """As `shapes.siblings` has it, which is loaded as a file: whose `shapes` the path gives is part of the question."""
    root, siblings = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ModuleType("symshape siblings")
    SourceFileLoader(siblings.__name__, os.path.join(root, "shapes", "siblings.py")).exec_module(siblings)
    siblings.require_own_packages(root)


_require_own_packages()

import shapes  # noqa: E402  # and not before that
from shapes import __all__, __version__  # noqa: E402

if TYPE_CHECKING:
    from shapes import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'symshape' has no attribute {name!r}; it has the public names of `shapes`")
    value: object = getattr(shapes, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
