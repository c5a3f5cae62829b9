"""C expressions for scalar operations: types, constants, and operations as calls of the vector library.

    >>> from backends.cpu.emission.c_operations import CValue, applied, constant
    >>> constant(0.5, "float32")
    'splat_f32(0x1.0000000000000p-1f)'
    >>> x, y = CValue("x", "float32"), CValue("y", "float32")
    >>> less = applied("lt", [x, y], "bool")
    >>> less.text, less.bits
    ('(x < y)', 32)
    >>> applied("select", [less, x, y], "float32").text
    'select_f32((x < y), x, y)'

A bool that is computed stays the mask that the comparison gives, as wide as what was compared; it becomes 0 or 1 only
where memory or arithmetic wants that.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backends.cpu.vector.elements import ELEMENTS, Element
from backends.loops import operations
from backends.loops.operations import BITWISE, DTYPES, INFIX, ITEMSIZE, computed_as, is_float, wrapped

KINDS: Final = dict(zip(DTYPES, ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"]))
"""The name of each dtype in the memory helpers."""
MEMORY: Final = {"f16": "uint16_t", "bf16": "uint16_t", "bool": "uint8_t"} | {
    name: element.scalar for name, element in ELEMENTS.items()
}
CALLS: Final = {
    "float": {"floordiv": "floor_divide"},
    "integer": {"floordiv": "floor_divide", "truncdiv": "divide", "shl": "shift_left", "shr": "shift_right"},
}
"""Helpers that are not called as the operation is; by kind of dtype."""
ROUNDED: Final = {"round_float16": "round_f16", "round_bfloat16": "round_bf16"}
SYMBOLS: Final = INFIX | BITWISE | {"div": "/"}
ON_BOOLS: Final = {
    "bitand": "({0} & {1})",
    "minimum": "({0} & {1})",
    "mul": "({0} & {1})",
    "bitor": "({0} | {1})",
    "maximum": "({0} | {1})",
    "add": "({0} | {1})",
    "bitxor": "({0} ^ {1})",
    "ne": "({0} ^ {1})",
    "eq": "~({0} ^ {1})",
    "lt": "(~{0} & {1})",
    "le": "(~{0} | {1})",
    "gt": "({0} & ~{1})",
    "ge": "({0} | ~{1})",
    "bitnot": "~{0}",
    "select": "(({0} & {1}) | (~{0} & {2}))",
}
"""Operations on masks."""


def element_of(dtype: str) -> Element:
    """The elements of a vector that holds values of a dtype."""
    return ELEMENTS["u8" if dtype == "bool" else KINDS[computed_as(dtype)]]


def width(dtype: str) -> int:
    """Bytes of an element in a register."""
    return ITEMSIZE[computed_as(dtype)]


@dataclass(frozen=True, slots=True)
class CValue:
    """A value in C: its expression, and for a bool that is a mask its width (0 for bytes that are 0 or 1).

    Attributes:
        number: the expression of the scalar, if the value is uniform.
    """

    text: str
    dtype: str
    bits: int = 0
    number: str = ""

    @property
    def type(self) -> str:
        return f"i{self.bits}v" if self.bits else element_of(self.dtype).vector

    def mask(self, bits: int) -> str:
        """A bool as a mask of this width."""
        if self.number:
            return f"splat_i{bits}(-(int{bits}_t){self.number})"
        if not self.bits:
            return f"m{bits}_bool({self.text})"
        return self.text if bits == self.bits else f"m{bits}_m{self.bits}({self.text})"

    @property
    def vector(self) -> str:
        """The value as memory has it: a bool as bytes."""
        return f"bool_m{self.bits}({self.text})" if self.bits else self.text


def constant(value: int | float | bool, dtype: str) -> str:
    """A constant, broadcast."""
    return f"splat_{element_of(dtype).name}({scalar(value, dtype)})"


def scalar(value: int | float | bool, dtype: str) -> str:
    """A number of this dtype."""
    if is_float(dtype):
        return _float(float(value), computed_as(dtype))
    if dtype == "bool":
        return str(int(bool(value)))
    return integer(wrapped(int(value), dtype))


def integer(number: int) -> str:
    """A literal of int64."""
    if number == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    text = f"{number}LL" if abs(number) >= 1 << 31 else str(number)
    return f"({text})" if number < 0 else text


def _float(value: float, dtype: str) -> str:
    suffix = "f" if dtype == "float32" else ""
    if suffix and math.isfinite(value):
        value = _rounded(value)
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    return f"{value.hex()}{suffix}"


def _rounded(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def applied(operation: str, operands: Sequence[CValue], dtype: str) -> CValue:
    """An operation on values."""
    of = operands[-1].dtype
    if operation == "cast":
        return converted(operands[0], dtype)
    if of == "bool":
        return _on_bools(operation, operands)
    element = element_of(of)
    texts = [operand.text for operand in operands]
    if operation == "select":
        return CValue(f"select_{element.name}({operands[0].mask(8 * element.size)}, {texts[1]}, {texts[2]})", dtype)
    bits = 8 * element.size if dtype == "bool" else 0
    if operation in SYMBOLS:
        return CValue(f"({texts[0]} {SYMBOLS[operation]} {texts[1]})", dtype, bits)
    if operation == "neg":
        return CValue(f"(-{texts[0]})", dtype)
    if operation in ROUNDED:
        return CValue(f"{ROUNDED[operation]}({texts[0]})", dtype)
    if operation == "bitnot":
        return CValue(f"(~{texts[0]})", dtype)
    if operation == "truncdiv" and is_float(of):
        return CValue(f"trunc_{element.name}({texts[0]} / {texts[1]})", dtype)
    name = CALLS["float" if is_float(of) else "integer"].get(operation, operation)
    return CValue(f"{name}_{element.name}({', '.join(texts)})", dtype, bits)


def _on_bools(operation: str, operands: Sequence[CValue]) -> CValue:
    """An operation on bools: on masks, unless all operands are bytes."""
    bits = max(operand.bits for operand in operands)
    if not bits and operation in ("bitand", "bitor", "bitxor", "minimum", "maximum", "ne"):
        return CValue(ON_BOOLS[operation].format(*[operand.text for operand in operands]), "bool")
    bits = bits or 8
    return CValue(ON_BOOLS[operation].format(*[operand.mask(bits) for operand in operands]), "bool", bits)


def converted(value: CValue, dtype: str) -> CValue:
    """A value as one of another dtype."""
    if computed_as(value.dtype) == computed_as(dtype):
        return value
    target = element_of(dtype)
    if dtype == "bool":
        return CValue(f"({value.text} != 0)", dtype, 8 * element_of(value.dtype).size)
    if value.bits:
        one, zero = constant(1, dtype), constant(0, dtype)
        return CValue(f"select_{target.name}({value.mask(8 * target.size)}, {one}, {zero})", dtype)
    source = element_of(value.dtype)
    if source is target:
        return CValue(value.text, dtype)
    return CValue(f"convert_{source.name}_{target.name}({value.text})", dtype)


# ---------------------------------------------------------------------- reductions


def identity(operation: str, dtype: str) -> str:
    """The initial value of a reduction."""
    return constant(operations.identity(operation, dtype), dtype)


COMBINED: Final = {"sum": "add", "product": "mul"}
ACROSS_LANES: Final = {"minimum": "min", "maximum": "max"}
"""Names of helpers that reduce over lanes, where they differ from the reduction's."""
SPREAD: Final = {"sum": "total", "minimum": "least", "maximum": "greatest"}
"""Names of helpers for floats that leave the result in all lanes; the extremes ignore NaN."""


def combined(operation: str, first: str, second: str, dtype: str) -> str:
    """Two partial results combined."""
    if dtype == "bool":
        return f"({first} {'|' if operation in ('any', 'maximum', 'sum') else '&'} {second})"
    return applied(COMBINED.get(operation, operation), [CValue(first, dtype), CValue(second, dtype)], dtype).text


def across_lanes(operation: str, text: str, dtype: str) -> str:
    """The result of a reduction over the lanes, in all lanes; no lane may be NaN where it is the least or greatest."""
    if dtype == "bool":
        name = "any" if operation in ("any", "maximum", "sum") else "all"
        return f"splat_u8({name}_m8({text} != 0))"
    name = element_of(dtype).name
    if is_float(dtype) and operation in SPREAD:
        return f"{SPREAD[operation]}_{name}({text})"
    return f"splat_{name}({ACROSS_LANES.get(operation, operation)}_{name}({text}))"
