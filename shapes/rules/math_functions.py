"""Functions of `math` without an exact form: logarithms, trigonometric and hyperbolic functions.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.math_functions import applied
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n = env.symbol("n", lo=1, hint=8)
    >>> applied(env, "log2", n).hint, type(env.ask(applied(env, "log2", n) == applied(env, "log2", n + 0))).__name__
    (3.0, 'Always')

The result is a float whose bits are an opaque function of sizes. Roots are exact (`sym_sqrt`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Final

from shapes.env import ShapeEnv
from shapes.symbolic.numbers import SymFloat, SymInt
from solver.floats import values as floats
from solver.floats.ordinals import pattern
from solver.floats.programs import Program, program
from solver.terms.expr import Expr
from solver.terms.functions import known_functions, register
from solver.terms.intervals import Interval
from solver.terms.operations import Evaluate

NAMES: Final = ("log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
_names: dict[tuple[str, str], str] = {}
"""The registered functions, by the name in `math` and the argument's text."""


def applied(env: ShapeEnv, name: str, value: SymInt | SymFloat) -> SymFloat:
    """Apply a function of `math` to a number."""
    if name == "log2":
        env.require(value > 0, "math domain error", error=ValueError)
    arguments: tuple[Expr, ...]
    if isinstance(value, SymInt):
        text, arguments = "float({0})", (value.expr,)
    else:
        text, arguments = value.value.text, value.value.arguments
    key = (name, text)
    found = _names.get(key)
    if found is None:
        found = f"{name}_of_{len(_names)}"
        register(found, _of_pattern(getattr(math, name), program(text)), _unbounded, arity=len(arguments))
        _names[key] = found
    bits = arguments[0].interner.apply(known_functions()[found], *arguments)
    result = SymFloat(value.env, floats.from_pattern(bits), value.domain, value.operations)
    # `math` raises for infinite or undefined values: its results are finite
    env.postulate(value.operations.integer(bits, value.domain) >= 0)
    env.postulate(value.operations.integer(bits, value.domain) < 2**64)
    env.postulate(result <= sys.float_info.max)
    env.postulate(result >= -sys.float_info.max)
    return result


def _of_pattern(plain: Callable[[float], float], number: Program) -> Evaluate:
    def evaluate(*arguments: int) -> int:
        try:
            return pattern(plain(number.evaluate(*arguments)))
        except (ValueError, OverflowError, ZeroDivisionError):
            return 0

    return evaluate


def _unbounded(*arguments: Interval) -> Interval:
    return (0, 2**64 - 1)
