"""Uniform integers and booleans stay scalar and are broadcast on demand.

    >>> from backends.cpu.emission.c_operations import CValue
    >>> place, count = [uniform(name, "int64") for name in ("s1", "s2")]
    >>> inside = uniform(applied("lt", [place, count], "bool"), "bool")
    >>> inside.number, inside.mask(32)
    ('(s1 < s2)', 'splat_i32(-(int32_t)(s1 < s2))')

Indices have 64 bits: a vector of them takes two registers beside one of float32, and so do its masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backends.cpu.emission.c_operations import SYMBOLS, CValue, element_of
from backends.loops.operations import INTEGERS

COMPARED: Final = ("lt", "le", "gt", "ge", "eq", "ne")
ON_BOOLS: Final = ("bitand", "bitor", "bitxor", "eq", "ne")
ON_INTEGERS: Final = ("add", "sub", "mul", *COMPARED, "bitand", "bitor", "bitxor")
MOST_BITS: Final = ("int64", "int32")
"""The integer types that C does not promote; it would promote narrower ones."""


def uniform(number: str, dtype: str) -> CValue:
    """A scalar as a value."""
    return CValue(f"splat_{element_of(dtype).name}({number})", dtype, 0, number)


def applied(operation: str, operands: Sequence[CValue], dtype: str) -> str | None:
    """An operation on scalars; None if it is done on vectors."""
    if not all(operand.number for operand in operands):
        return None
    of, numbers = operands[-1].dtype, [operand.number for operand in operands]
    if operation == "cast":
        if dtype == "bool":
            return f"({numbers[0]} != 0)"
        return f"(({element_of(dtype).scalar}){numbers[0]})" if dtype in INTEGERS else None
    if operation == "select" and (of in MOST_BITS or of == "bool"):
        return f"({numbers[0]} ? {numbers[1]} : {numbers[2]})"
    if operation == "bitnot" and of == "bool":
        return f"(!{numbers[0]})"
    if of in MOST_BITS and operation in ("minimum", "maximum"):
        return f"({numbers[0]} {'<' if operation == 'minimum' else '>'} {numbers[1]} ? {numbers[0]} : {numbers[1]})"
    if of in MOST_BITS and operation in ON_INTEGERS or of == "bool" and operation in ON_BOOLS:
        return f"({numbers[0]} {SYMBOLS[operation]} {numbers[1]})"
    return None
