"""Functions of `math` on symbolic numbers, as torch has them: `torch._sym_log2` and the like, which Dynamo records.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: x * torch._sym_log2(x.shape[0]), (torch.ones(4),))
    >>> variant.guards, variant.graph(torch.ones(8))[0][0]
    ((), tensor(3.))

The result is a float whose bits are an opaque function of sizes. `torch.sym_sqrt` is exact in the engine.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Final

from shapes.env import ShapeEnv
from shapes.symbolic.numbers import SymFloat, SymInt
from solver.floats import values as floats
from solver.floats.ordinals import pattern
from solver.terms.expr import Expr
from solver.terms.functions import known_functions, register
from solver.terms.intervals import Interval

NAMES: Final = ("log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
_names: dict[tuple[str, str], str] = {}
"""The registered functions, by the name in `math` and the argument's text."""


def applied(name: str, value: SymInt | SymFloat) -> SymFloat:
    """Apply a function of `math` to a number."""
    env = value.env
    assert isinstance(env, ShapeEnv)
    if name == "log2":
        env.require(value > 0, "math domain error", error=ValueError)
    arguments: tuple[Expr, ...]
    number: Callable[..., float]
    if isinstance(value, SymInt):
        text, arguments, number = "{0}", (value.expr,), builtins.int
    else:
        from solver.floats.programs import program

        text, arguments = value.value.text, value.value.arguments
        number = program(text).evaluate
    key = (name, text)
    found = _names.get(key)
    if found is None:
        found = f"{name}_of_{len(_names)}"
        register(found, _of_pattern(getattr(math, name), number), _unbounded, arity=len(arguments))
        _names[key] = found
    bits = arguments[0].interner.apply(known_functions()[found], *arguments)
    result = SymFloat(value.env, floats.from_pattern(bits), value.domain, value.operations)
    # `math` raises for infinite or undefined values: its results are finite
    env.postulate(value.operations.integer(bits, value.domain) >= 0)
    env.postulate(value.operations.integer(bits, value.domain) < 2**64)
    env.postulate(result <= sys.float_info.max)
    env.postulate(result >= -sys.float_info.max)
    return result


def _of_pattern(plain: Callable[[float], float], number: Callable[..., float]) -> Callable[..., int]:
    def evaluate(*arguments: int) -> int:
        try:
            return pattern(plain(number(*arguments)))
        except (ValueError, OverflowError, ZeroDivisionError):
            return 0

    return evaluate


def _unbounded(*arguments: Interval) -> Interval:
    return (0, 2**64 - 1)
