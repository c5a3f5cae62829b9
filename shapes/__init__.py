"""Symbolic sizes: what is known about them, what follows, and with which evidence.

    >>> from shapes import ShapeEnv, Always, Depends
    >>> env = ShapeEnv()
    >>> b, s, _ = env.sizes("b s 64", hints=(4, 128))
    >>> env.assume(s % 16 == 0)
    >>> match env.ask((b * s) % 64 == 0):
    ...     case Always(core=facts): print("vectorize", facts)
    ...     case Depends(true_at, false_at): print("general")
    general

The names of this module are loaded when they are first used; importing it loads neither torch, sympy, z3 nor numpy.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shapes.choices import (
        sym_and,
        sym_float,
        sym_int,
        sym_ite,
        sym_max,
        sym_min,
        sym_not,
        sym_or,
        sym_sqrt,
        sym_sum,
    )
    from shapes.dispatch import Dispatch
    from shapes.env import ShapeEnv
    from shapes.errors import Contradiction, ParseError, ShapeError, SpecializedDynamic, UndecidedGuard, Undefined
    from shapes.symbool import SymBool
    from shapes.symfloat import SymFloat
    from shapes.symint import SymInt
    from solver.verdict import Always, Depends, GaveUp, Never, Verdict

__all__ = [
    "ShapeEnv",
    "Always",
    "Never",
    "Depends",
    "GaveUp",
    "Verdict",
    "SymInt",
    "SymBool",
    "SymFloat",
    "sym_and",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_or",
    "sym_sqrt",
    "sym_sum",
    "Dispatch",
    "ShapeError",
    "Contradiction",
    "Undefined",
    "UndecidedGuard",
    "SpecializedDynamic",
    "ParseError",
]

_HOMES: Final = {
    "shapes.env": ("ShapeEnv",),
    "solver.verdict": ("Always", "Never", "Depends", "GaveUp", "Verdict"),
    "shapes.symint": ("SymInt",),
    "shapes.symbool": ("SymBool",),
    "shapes.symfloat": ("SymFloat",),
    "shapes.dispatch": ("Dispatch",),
}
"""Where names live that are neither errors nor functions over sizes."""


def _home(name: str) -> str | None:
    if name not in __all__:
        return None
    if name.startswith("sym_"):
        return "shapes.choices"
    return next((home for home, names in _HOMES.items() if name in names), "shapes.errors")


def __getattr__(name: str) -> object:
    home = _home(name)
    if home is None:
        if importlib.util.find_spec(f"shapes.{name}") is None:
            raise AttributeError(f"module 'shapes' has no attribute {name!r}")
        return importlib.import_module(f"shapes.{name}")
    value: object = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _require_own(package: str) -> None:
    """The sibling package that an import would find must be the one that lies beside this one."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = os.path.join(root, package)
    if package != "solver" and not os.path.isdir(own):
        return
    spec = importlib.util.find_spec(package)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    found = [os.path.abspath(place) for place in places if place]
    if not any(
        os.path.realpath(place).startswith(os.path.realpath(own) + os.sep)
        or os.path.realpath(place) == os.path.realpath(own)
        for place in found
    ):
        first = found[0] if found else "nothing"
        raise ImportError(
            f"symshape needs its own package `{package}` ({own}), but on the path {first} comes first: "
            f"rename that, or put {root} before it (`PYTHONPATH={root}`, or `sys.path.insert(0, {root!r})`)"
        )


_require_own("solver")
_require_own("backends")
