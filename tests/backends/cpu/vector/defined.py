"""The exact values of functions of floats: of IEEE 754 where it defines them, else of mathematics.

Torch's own functions are no reference for a last bit. Some come from a library of the processor's vendor (on Intel,
float64's `sqrt` is not rounded correctly), and some have one code for each width of vector.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

import mpmath
import torch

Round = Callable[[float], float]
"""To the nearest number of a type. The operations of float32 are those of float64 rounded once more: for `+ - * /` and
the square root, 53 bits are enough that this is the nearest one (twice 24, and two)."""


def to_float32(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def to_float64(value: float) -> float:
    return value


ROUND: Final[dict[str, Round]] = {"f32": to_float32, "f64": to_float64}
BITS: Final = {"f32": ("f", "i"), "f64": ("d", "q")}
"""The letters of a number and of an integer as wide, for `struct`."""


def quotient(x: float, y: float) -> float:
    if y:
        return x / y
    return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


def root(x: float) -> float:
    return math.nan if x < 0 else math.sqrt(x)


def exact_remainder(x: float, y: float) -> float:
    """The remainder of the truncated quotient; it is always a float."""
    return math.nan if math.isinf(x) or y == 0 else math.fmod(x, y)


def python_remainder(x: float, y: float, to_nearest: Round) -> float:
    """With the sign of the divisor, but that of a zero is the dividend's."""
    r = exact_remainder(x, y)
    return to_nearest(r + y) if r and (r < 0) != (y < 0) else r


def floor_quotient(x: float, y: float, to_nearest: Round) -> float:
    """Python's quotient of floats, each step rounded."""
    if y == 0:
        return quotient(x, y)
    r = exact_remainder(x, y)
    q = to_nearest(quotient(to_nearest(x - r), y))
    if r and (r < 0) != (y < 0):
        q = to_nearest(q - 1)
    if q == 0:
        return math.copysign(0.0, quotient(x, y))
    whole = q if math.isinf(q) or q != q else math.copysign(float(math.floor(q)), q)
    return to_nearest(whole + 1) if q - whole > 0.5 else whole


def either_if_nan(choose: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda x, y: math.nan if x != x or y != y else choose(x, y)


def other_if_nan(choose: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda x, y: y if x != x else x if y != y else choose(x, y)


def whole(rounded: Callable[[float], int]) -> Callable[[float], float]:
    """Of a rounding to an integer; what is none, or is one, stays, and a zero has the sign of what it comes from."""
    return lambda x: math.copysign(float(rounded(x)), x) if math.isfinite(x) else x


def defined(kind: str) -> dict[str, Callable[..., float]]:
    """The functions whose every bit is defined, for this type."""
    to_nearest = ROUND[kind]
    return {
        "abs": math.fabs,
        "sign": lambda x: 0.0 if x != x else float((x > 0) - (x < 0)),
        "floor": whole(math.floor),
        "ceil": whole(math.ceil),
        "trunc": whole(math.trunc),
        "round": whole(round),
        "sqrt": lambda x: to_nearest(root(x)),
        "reciprocal": lambda x: to_nearest(quotient(1.0, x)),
        "rsqrt": lambda x: to_nearest(quotient(1.0, to_nearest(root(x)))),
        "minimum": either_if_nan(min),
        "maximum": either_if_nan(max),
        "fmin": other_if_nan(min),
        "fmax": other_if_nan(max),
        "fmod": exact_remainder,
        "remainder": lambda x, y: python_remainder(x, y, to_nearest),
        "floor_divide": lambda x, y: floor_quotient(x, y, to_nearest),
        "copysign": math.copysign,
    }


QUESTIONS: Final[dict[str, Callable[[float], bool]]] = {
    "isnan": math.isnan,
    "isinf": math.isinf,
}

POLES: Final = {"log": -math.inf, "log1p": -math.inf, "log2": -math.inf, "log10": -math.inf, "lgamma": math.inf}
"""The value of a function at its pole, where mathematics has none."""


def mathematical(name: str) -> Callable[[float], float]:
    """A function of one real number, from forty digits rounded to double precision; NaN where it has no value."""
    function = OF_ONE[name]

    def value(x: float) -> float:
        if x != x:
            return math.nan
        if name == "lgamma" and math.isinf(x):
            return math.inf
        if name in ("sin", "cos", "tan") and math.isinf(x):
            return math.nan
        with mpmath.workdps(40):
            try:
                found = function(mpmath.mpf(x))
            except (ValueError, ZeroDivisionError):
                return POLES.get(name, math.nan)
            if isinstance(found, mpmath.mpc):
                return math.nan
            return float(found)

    return value


def lgamma(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.re(mpmath.loggamma(x))


OF_ONE: Final[dict[str, Callable[[mpmath.mpf], mpmath.mpf]]] = {
    **{name: getattr(mpmath, name) for name in ("exp", "expm1", "log", "log10", "log1p", "tanh", "erf")},
    **{name: getattr(mpmath, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(mpmath, name) for name in ("sinh", "cosh", "asinh", "acosh", "atanh")},
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "erfc": lambda x: mpmath.erfc(min(x, 100)),  # which is none that a float holds; of huge numbers it raises
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "lgamma": lgamma,
}


def power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.copysign(math.inf, x) if x < 0 and y % 2 == 1 else math.inf
    except ValueError:  # a negative number to a power that is no integer, or zero to a negative one
        odd = abs(y) % 2 == 1
        return math.nan if x else math.copysign(math.inf, x) if odd else math.inf


OF_TWO: Final[dict[str, Callable[[float, float], float]]] = {
    "pow": power,
    "atan2": math.atan2,
}


def applied(function: Callable[..., float], *inputs: torch.Tensor) -> torch.Tensor:
    """The function at each element, in double precision."""
    values = [function(*row) for row in zip(*[tensor.tolist() for tensor in inputs], strict=True)]
    return torch.tensor(values, dtype=torch.float64)
