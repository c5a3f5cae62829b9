"""Type promotion: the dtype of a result.

    >>> from shapes.rules import Shape
    >>> from shapes.rules.promotion import floating, promoted
    >>> x, n = Shape((2, 3), dtype="float16"), Shape((), dtype="float64")
    >>> promoted(x, n), promoted(x, 2.5), promoted(Shape((4,), dtype="int32"), 2.5)
    ('float16', 'float16', 'float32')
    >>> floating("int64"), floating("float64")
    ('float32', 'float64')

Tensors with axes decide; one without, or a Python number, counts only where it is of a higher kind than those (bool,
integer, floating, complex). None stands for a dtype that is not known.
"""

from __future__ import annotations

from typing import Final

from shapes.rules.shape import Shape
from shapes.symbolic.numbers import SymFloat

Operand = object
"""A shape, a number, or None where an argument was left out."""

KIND: Final = {
    "bool": 0,
    "uint8": 1, "int8": 1, "int16": 1, "int32": 1, "int64": 1,
    "float16": 2, "bfloat16": 2, "float32": 2, "float64": 2,
    "complex32": 3, "complex64": 3, "complex128": 3,
}  # fmt: skip
"""Bool, integer, floating or complex."""

SIGNED: Final = ("int8", "int16", "int32", "int64")
COMPLEX_OF: Final = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}
REAL_OF: Final = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def named(dtype: object) -> str | None:
    """The name of a dtype, given as such or as a framework's own object."""
    return None if dtype is None else str(dtype).rpartition(".")[2]


def kind_of(dtype: str | None) -> int | None:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    return None if dtype is None else KIND.get(dtype)


def floating(dtype: str | None) -> str | None:
    """The dtype that a function of real numbers computes in: integers become the default float."""
    kind = kind_of(dtype)
    if kind is None:
        return None
    return dtype if kind > 1 else "float32"


def summed(dtype: str | None) -> str | None:
    """The dtype that numbers are added up or multiplied in: bools and integers become 64 bits wide."""
    kind = kind_of(dtype)
    return None if kind is None else dtype if kind > 1 else "int64"


def real(dtype: str | None) -> str | None:
    """The dtype of absolute values."""
    return None if dtype is None else REAL_OF.get(dtype, dtype)


def joined(a: str, b: str) -> str | None:
    """The dtype that holds two others, for operands of equal rank among each other."""
    if a == b:
        return a
    one, other = KIND.get(a), KIND.get(b)
    if one is None or other is None:
        return None
    if one > other:
        a, b, one, other = b, a, other, one
    if other == 3:
        parts = joined(REAL_OF.get(a, a), REAL_OF[b]) if one > 1 else REAL_OF[b]
        return None if parts is None else COMPLEX_OF[parts]
    if one < other:
        return b
    if one == 1:
        if "uint8" in (a, b):
            signed = b if a == "uint8" else a
            return "int16" if signed == "int8" else signed
        return max(a, b, key=SIGNED.index)
    return "float64" if "float64" in (a, b) else "float32"


def promoted(*operands: Operand) -> str | None:
    """The dtype that operands are computed in together; None where one of them is not known."""
    with_axes: str | None = None
    without: str | None = None
    numbers: str | None = None
    for operand in operands:
        if isinstance(operand, Shape):
            dtype = operand.dtype
            if dtype is None:
                return None
            if operand:
                with_axes = dtype if with_axes is None else joined(with_axes, dtype)
                if with_axes is None:
                    return None
            else:
                without = dtype if without is None else joined(without, dtype)
                if without is None:
                    return None
        elif operand is not None:
            dtype = _of_number(operand)
            numbers = dtype if numbers is None else joined(numbers, dtype)
    return _combined(with_axes, _combined(without, numbers))


def _of_number(number: object) -> str:
    if isinstance(number, bool):
        return "bool"
    if isinstance(number, complex):
        return "complex64"
    return "float32" if isinstance(number, float | SymFloat) else "int64"


def _combined(higher: str | None, lower: str | None) -> str | None:
    if higher is None or lower is None:
        return higher or lower
    one, other = KIND.get(higher), KIND.get(lower)
    if one is None or other is None:
        return None
    if one >= other:
        return higher
    if one == 2:
        return COMPLEX_OF[higher]
    return joined(higher, lower)
