"""The scalar operations of loop bodies: the instruction set that lowerings target and all code generators implement.

    >>> from backends.loops.operations import OPERATIONS, result_dtype
    >>> result_dtype("add", ["float32", "float32"])
    'float32'
    >>> result_dtype("lt", ["int64", "int64"])
    'bool'
    >>> OPERATIONS["exp"].is_costly
    True

The operands of an operation have one dtype (`select` has a condition before them); changes of dtype are `cast`s of
their own. Integers wrap around as two's complement. `minimum` and `maximum` give nan where either operand is nan,
`floordiv` and `remainder` round as Python does, `truncdiv` and `fmod` as C does, `round` takes the even neighbour.
Values of float16 and bfloat16 are computed with as float32 and rounded when they are stored, and by `round_float16` and
`round_bfloat16`, which leave what such a number can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

ResultKind = Literal["same", "bool", "cast"]

HALVES: Final = ("float16", "bfloat16")
FLOATS: Final = ("float64", "float32", *HALVES)
INTEGERS: Final = ("int64", "int32", "int16", "int8", "uint8")
DTYPES: Final = (*FLOATS, *INTEGERS, "bool")
ITEMSIZE: Final = dict(zip(DTYPES, (8, 4, 2, 2, 8, 4, 2, 1, 1, 1)))
"""Bytes of an element in memory, for each dtype that loops may hold."""


@dataclass(frozen=True, slots=True)
class Elementwise:
    """One operation: its arity, the dtype of its result, and whether recomputing it is costly.

    Attributes:
        kinds: the dtypes that it is for: any of "float", "integer", "bool".
    """

    arity: int
    result: ResultKind = "same"
    is_costly: bool = False
    kinds: tuple[str, ...] = ("float", "integer")


def _table() -> dict[str, Elementwise]:
    floats = ("float",)
    whole = ("integer", "bool")
    every = ("float", "integer", "bool")
    table = {name: Elementwise(2) for name in ("add", "sub", "mul")}
    table |= {name: Elementwise(2, kinds=every) for name in ("minimum", "maximum")}
    table |= {name: Elementwise(2, kinds=floats) for name in ("div", "fmin", "fmax", "copysign")}
    table |= {name: Elementwise(2, is_costly=True) for name in ("fmod", "remainder", "floordiv", "truncdiv")}
    table |= {name: Elementwise(2, is_costly=True, kinds=floats) for name in ("pow", "atan2")}
    table |= {name: Elementwise(1) for name in ("neg", "abs", "sign")}
    table |= {name: Elementwise(1, kinds=floats) for name in ("floor", "ceil", "trunc", "round", "reciprocal", "sqrt")}
    costly = "rsqrt exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf erfc sin cos tan asin acos atan sinh cosh"
    costly += " asinh acosh atanh lgamma"
    table |= {name: Elementwise(1, is_costly=True, kinds=floats) for name in costly.split()}
    table |= {name: Elementwise(1, "bool", kinds=floats) for name in ("isnan", "isinf")}
    table |= {name: Elementwise(2, "bool", kinds=every) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
    table |= {name: Elementwise(2, kinds=whole) for name in ("bitand", "bitor", "bitxor")}
    table |= {name: Elementwise(2, kinds=("integer",)) for name in ("shl", "shr")}
    table["bitnot"] = Elementwise(1, kinds=whole)
    table["select"] = Elementwise(3, kinds=every)
    table["cast"] = Elementwise(1, "cast", kinds=every)
    table |= {f"round_{half}": Elementwise(1, kinds=floats) for half in HALVES}
    return table


OPERATIONS: Final = _table()
INFIX: Final = {"add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
"""Operations that C, Python and people write between their operands alike."""
BITWISE: Final = {"ne": "!=", "bitand": "&", "bitor": "|", "bitxor": "^"}
"""Operations that C and Python write between their operands alike."""
REDUCTIONS: Final = ("sum", "product", "minimum", "maximum", "any", "all")
"""The reduction operators; minimum and maximum give nan where there is one, any and all are of bools."""


def result_dtype(name: str, operands: Sequence[str]) -> str:
    """The dtype of an operation's result for operands of these dtypes."""
    return "bool" if OPERATIONS[name].result == "bool" else operands[-1]


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def extremes(dtype: str) -> tuple[float, float]:
    """The least and the greatest value of a dtype."""
    if is_float(dtype):
        return -math.inf, math.inf
    if dtype == "bool":
        return 0, 1
    bits = 8 * ITEMSIZE[dtype]
    return (0, (1 << bits) - 1) if dtype == "uint8" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrapped(value: int, dtype: str) -> int:
    """An integer as a dtype holds it, as two's complement."""
    least = int(extremes(dtype)[0])
    return (value - least) % (1 << 8 * ITEMSIZE[dtype]) + least


def identity(operation: str, dtype: str) -> float:
    """The initial value of a reduction."""
    least, most = extremes(dtype)
    return {"sum": 0, "product": 1, "any": False, "all": True, "minimum": most, "maximum": least}[operation]


def computed_as(dtype: str) -> str:
    """The dtype in which elements of this one are computed with."""
    return "float32" if dtype in HALVES else dtype
