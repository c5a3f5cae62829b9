"""Symbolic sizes (symshape): what is known about them, what follows, and with which evidence.

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

from shapes.siblings import require_own_packages

if TYPE_CHECKING:
    from shapes.env import ShapeEnv
    from shapes.errors import Contradiction, ParseError, ShapeError, SpecializedDynamic, UndecidedGuard, Undefined
    from shapes.guards.dispatch import Dispatch
    from shapes.symbolic.choices import (
        sym_and,
        sym_float,
        sym_gcd,
        sym_int,
        sym_ite,
        sym_max,
        sym_min,
        sym_not,
        sym_or,
        sym_sqrt,
        sym_sum,
    )
    from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
    from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict

__version__ = "0.1.0"
"""The version of the distribution; `setup.cfg` reads it here."""

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
    "sym_gcd",
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
    "solver.decide.verdict": ("Always", "Never", "Depends", "GaveUp", "Verdict"),
    "shapes.symbolic.numbers": ("SymInt", "SymBool", "SymFloat"),
    "shapes.guards.dispatch": ("Dispatch",),
}
"""The modules of names that are neither errors nor functions over sizes."""


def _home(name: str) -> str | None:
    if name not in __all__:
        return None
    if name.startswith("sym_"):
        return "shapes.symbolic.choices"
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


require_own_packages(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
