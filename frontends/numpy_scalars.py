"""NumPy's functions of numbers, in Python that a tracer follows: their results for Python's integers and floats.

    >>> import numpy
    >>> from frontends.numpy_scalars import product, divided
    >>> product((2, 3, 4)), numpy.prod((2, 3, 4))
    (24, np.int64(24))
    >>> divided(1, 3), product((2**40, 2**40))
    (0.3333333333333333, None)

An integer is the value of an `int64`, a float of a `float64`. The result is None where NumPy has another: where it
wraps around, warns of a finite result, or the type of the result depends on its version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

LIMIT: Final = 2**63
"""NumPy's integers are smaller, and wrap around."""
Number = int | float


def within(number: Number) -> Number | None:
    """A result; None if NumPy's integer wraps around."""
    return number if isinstance(number, float) or -LIMIT <= number < LIMIT else None


def product(sizes: Sequence[int]) -> Number | None:
    result = 1
    for each in sizes:
        result *= each
    return within(result)


def total(sizes: Sequence[int]) -> Number | None:
    return within(sum(sizes))


def mean(sizes: Sequence[int]) -> float | None:
    result = sum(sizes)
    return float(result) / len(sizes) if -(2**53) < result < 2**53 else None


def integer(number: Number) -> Number | None:
    return within(number) if isinstance(number, int) else None


def root(number: Number) -> float | None:
    return math.sqrt(number) if number >= 0 else None


def rounded_up(number: Number) -> float | None:
    return float(math.ceil(number)) if isinstance(number, float) and 0 < number < LIMIT else None


def rounded_down(number: Number) -> float | None:
    return float(math.floor(number)) if isinstance(number, float) and 0 < number < LIMIT else None


def maximum(a: Number, b: Number) -> Number | None:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else None


def minimum(a: Number, b: Number) -> Number | None:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else None


def added(a: Number, b: Number) -> Number | None:
    return within(a + b)


def subtracted(a: Number, b: Number) -> Number | None:
    return within(a - b)


def multiplied(a: Number, b: Number) -> Number | None:
    return within(a * b)


def divided(a: Number, b: Number) -> float | None:
    return float(a) / float(b) if b > 0 or b < 0 else None


def power(a: Number, b: Number) -> Number | None:
    return within(a**b) if isinstance(a, int) and isinstance(b, int) and 0 <= b < 64 else None


def floor_quotient(a: Number, b: Number) -> Number | None:
    return a // b if isinstance(a, int) and isinstance(b, int) and b > 0 else None


def compared(a: Number, b: Number, op: Callable[[Number, Number], bool]) -> bool:
    """A comparison: NumPy compares an integer with a float as floats."""
    return op(a, b) if isinstance(a, int) is isinstance(b, int) else op(float(a), float(b))


OPERATORS: Final[Mapping[str, Callable[..., object]]] = {
    "add": added,
    "subtract": subtracted,
    "multiply": multiplied,
    "true_divide": divided,
}
"""The operators, by the names of NumPy's functions."""
TABLES: Final[Sequence[Mapping[str, Callable[..., object]]]] = (
    {"prod": product, "sum": total, "mean": mean, "max": max, "min": min},
    {"sqrt": root, "ceil": rounded_up, "floor": rounded_down, "int64": integer, "float64": float},
    {"maximum": maximum, "minimum": minimum, "floor_divide": floor_quotient, "power": power, **OPERATORS},
)
"""The functions of a sequence of integers, of a number, and of two, by NumPy's names."""
