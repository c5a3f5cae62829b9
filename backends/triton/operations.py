"""The operations of loop bodies in Triton's language.

    >>> from backends.triton.operations import applied
    >>> applied("maximum", "float32", ["a", "b"])
    'larger(a, b)'
    >>> applied("cast", "int8", ["a"], source="float32")
    'a.to(tl.int32).to(tl.int8)'
    >>> applied("floordiv", "int64", ["a", "b"])
    'floor_division(a, b)'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from backends.loops import operations
from backends.loops.operations import BITWISE, DTYPES, INFIX, ITEMSIZE, is_float, wrapped

ELEMENT: Final = dict(zip(DTYPES, ["fp64", "fp32", "fp16", "bf16", "i64", "i32", "i16", "i8", "u8", "i1"]))
"""The spelling of pointer elements in signatures."""
LANGUAGE: Final = {name: f"tl.{name}" for name in DTYPES} | {"bool": "tl.int1"}
"""The spelling of each dtype in the text of a kernel."""

LIBRARY: Final = """
    exp exp2 expm1 log log2 log10 log1p tanh erf erfc sin cos tan asin acos atan sinh cosh asinh acosh atanh lgamma pow
    atan2 fmod copysign trunc rsqrt
    """
FLOAT: Final = {
    **{name: f"libdevice.{name}" for name in LIBRARY.split()},
    "round": "libdevice.rint",
    "div": "quotient",
    "sqrt": "square_root",
    "sigmoid": "sigmoid",
    "neg": "negative",
    "floor": "tl.floor",
    "ceil": "tl.ceil",
    "maximum": "larger",
    "minimum": "smaller",
    "fmax": "fmax",
    "fmin": "fmin",
    "remainder": "float_remainder",
    "floordiv": "float_floor_division",
}
INTEGER: Final = {
    "maximum": "tl.maximum",
    "minimum": "tl.minimum",
    "remainder": "remainder",
    "floordiv": "floor_division",
}
SYMBOLS: Final = INFIX | BITWISE | {"truncdiv": "//", "fmod": "%"}
BOOLEAN: Final = {
    "maximum": "{0} | {1}",
    "minimum": "{0} & {1}",
    "eq": "({0} ^ {1}) == 0",
    "ne": "{0} ^ {1}",
    "lt": "{1} & ({0} == 0)",
    "gt": "{0} & ({1} == 0)",
    "le": "{1} | ({0} == 0)",
    "ge": "{0} | ({1} == 0)",
    "bitand": "{0} & {1}",
    "bitor": "{0} | {1}",
    "bitxor": "{0} ^ {1}",
    "bitnot": "{0} == 0",
}
"""Operations on bools, which Triton orders as signed numbers of one bit."""
REDUCED: Final = {
    "sum": "summed",
    "product": "multiplied",
    "minimum": "smallest",
    "maximum": "largest",
    "any": "any_of",
    "all": "all_of",
}


def applied(operation: str, dtype: str, operands: Sequence[str], source: str | None = None) -> str:
    """An operation on operands of dtype `source`, which is that of the result where it is not given."""
    source = dtype if source is None else source
    if operation == "select":
        return f"tl.where({', '.join(operands)})"
    if operation == "cast":
        return cast(operands[0], source, dtype)
    if source == "bool":
        return BOOLEAN[operation].format(*operands)
    common = {"abs": "tl.abs", "sign": "sign"}
    function = common.get(operation) or (FLOAT if is_float(source) else INTEGER).get(operation)
    if function is not None:
        return f"{function}({', '.join(operands)})"
    match operation:
        case "truncdiv" if is_float(source):
            return f"libdevice.trunc(quotient({operands[0]}, {operands[1]}))"
        case "reciprocal":
            return f"quotient({constant(1, source)}, {operands[0]})"
        case "neg":
            return f"-{operands[0]}"
        case "round_float16" | "round_bfloat16":
            return f"{cast(operands[0], source, operation.removeprefix('round_'))}.to({LANGUAGE[source]})"
        case "bitnot":
            return f"{operands[0]} ^ {constant(255 if source == 'uint8' else -1, source)}"
        case "isnan":
            return f"{operands[0]} != {operands[0]}"
        case "isinf":
            return f"tl.abs({operands[0]}) == float('inf')"
        case "shl" | "shr":
            side = "left" if operation == "shl" else "right"
            return f"shifted_{side}({operands[0]}, {operands[1]}, {8 * ITEMSIZE[source]})"
    return f"{operands[0]} {SYMBOLS[operation]} {operands[1]}"


def cast(operand: str, source: str, dtype: str) -> str:
    """An operand in another dtype; a number that does not fit a small integer wraps as one of 32 bits."""
    if dtype == "bool":
        return f"{operand} != 0"
    if is_float(source) and dtype in ("int16", "int8", "uint8"):
        return f"{operand}.to(tl.int32).to({LANGUAGE[dtype]})"
    return f"bfloat({operand})" if dtype == "bfloat16" else f"{operand}.to({LANGUAGE[dtype]})"


def constant(value: int | float | bool, dtype: str) -> str:
    """A number of this dtype; a whole one that does not fit it wraps around."""
    if dtype != "bool" and not is_float(dtype):
        value = wrapped(int(value), dtype)
    return f"tl.full((), {_literal(value)}, {LANGUAGE[dtype]})"


def _literal(value: float) -> str:
    return f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def identity(operation: str, dtype: str) -> str:
    """The initial value of a reduction."""
    return _literal(operations.identity(operation, dtype))


def accumulated(operation: str, total: str, value: str) -> str:
    """One more value in an accumulator."""
    match operation:
        case "sum" | "product":
            return f"{total} {'+' if operation == 'sum' else '*'} {value}"
        case "any" | "all":
            return f"{total} {'|' if operation == 'any' else '&'} {value}"
    return f"{'larger' if operation == 'maximum' else 'smaller'}({total}, {value})"
