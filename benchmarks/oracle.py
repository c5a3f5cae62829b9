"""Evaluate a recorded proposition in Python's own arithmetic: an oracle that shares no code with the engine.

Decimals and real-valued functions are exact, as the format of the corpus says.

>>> holds("trunc(0.29 * float(s)) == 29", {"s": 100})
True
>>> holds("b // s >= 1 or s == 0", {"b": 3, "s": 0}) is None
True
"""

import ast
import functools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import CodeType


def root(a: int | Fraction) -> int | float:
    """Exact for perfect squares, else the nearest double."""
    exact = math.isqrt(int(a))
    return exact if exact * exact == a else math.sqrt(a)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "gcd": math.gcd,
    "ceildiv": lambda a, b: -(-a // b),
    "truediv": Fraction,
    "sqrt": root,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "float": Fraction,
    "Fraction": Fraction,
}


class Exact(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, float):
            return ast.Call(ast.Name("Fraction", ast.Load()), [ast.Constant(repr(node.value))], [])
        return node


@functools.lru_cache(maxsize=4096)
def compiled(prop: str) -> CodeType:
    return compile(ast.fix_missing_locations(Exact().visit(ast.parse(prop, mode="eval"))), prop, "eval")


def value(text: str, values: Mapping[str, int]) -> object:
    """The value of `text` at these sizes; ZeroDivisionError where a divisor is zero."""
    return eval(compiled(text), {"__builtins__": {}, **FUNCTIONS, **values})


def holds(prop: str, values: Mapping[str, int]) -> bool | None:
    """Return True if `prop` holds; None where a divisor is zero."""
    try:
        return bool(value(prop, values))
    except ZeroDivisionError:
        return None
