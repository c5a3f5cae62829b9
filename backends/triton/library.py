"""The device library of kernels: what Triton's language lacks, or has with another meaning than torch.

    >>> from backends.triton import library
    >>> library.quotient.__name__
    'quotient'

Division, square roots and exponentials are the exact ones, as in the operators that they replace. Integers divide as
Python does in `floor_division` and `remainder`; minima and maxima give nan where there is one. The interpreter knows
neither the device's own functions nor fast reductions, so it is given others.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton import knobs
from triton.language.extra import libdevice

INTERPRETED = knobs.runtime.interpret
if INTERPRETED:
    from backends.triton.interpreted import bfloat, largest, libdevice, multiplied, smallest


@triton.jit
def quotient(a, b):
    """Rounded to the nearest, which `/` is not for float32."""
    if a.dtype == tl.float32:
        return tl.div_rn(a, b)
    else:
        return a / b


@triton.jit
def square_root(x):
    """Rounded to the nearest."""
    if x.dtype == tl.float32:
        return tl.sqrt_rn(x)
    else:
        return tl.sqrt(x)


@triton.jit
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    one = tl.full((), 1, x.dtype)
    return quotient(one, one + libdevice.exp(negative(x)))


@triton.jit
def negative(x):
    """-x with the sign of zero, which Triton computes as 0 - x."""
    return x * tl.full((), -1, x.dtype)


@triton.jit
def sign(x):
    """-1, 0 or 1; 0 for nan."""
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@triton.jit
def floor_division(a, b):
    """The quotient of integers, rounded down."""
    rest = a % b
    return tl.where((rest != 0) & ((rest < 0) ^ (b < 0)), a // b - 1, a // b)


@triton.jit
def remainder(a, b):
    """The remainder of integers, with the sign of the divisor."""
    rest = a % b
    return tl.where((rest != 0) & ((rest < 0) ^ (b < 0)), rest + b, rest)


@triton.jit
def float_remainder(a, b):
    """The remainder with the sign of the divisor."""
    rest = libdevice.fmod(a, b)
    return tl.where((rest != 0) & ((rest < 0) ^ (b < 0)), rest + b, rest)


@triton.jit
def float_floor_division(a, b):
    """The floor of the exact quotient, as torch computes it."""
    rest = libdevice.fmod(a, b)
    exact = quotient(a - rest, b)
    exact = tl.where((rest != 0) & ((b < 0) ^ (rest < 0)), exact - 1, exact)
    floor = tl.floor(exact)
    floor = tl.where(exact - floor > 0.5, floor + 1, floor)
    plain = quotient(a, b)
    zero = libdevice.copysign(exact * 0, plain)
    return tl.where(b == 0, plain, tl.where(exact == 0, zero, floor))


@triton.jit
def shifted_left(a, b, width: tl.constexpr):
    """0 for counts that are negative or not below the width."""
    inside = (b >= 0) & (b < width)
    return tl.where(inside, a << tl.where(inside, b, b ^ b), a ^ a)


@triton.jit
def shifted_right(a, b, width: tl.constexpr):
    """Filled with the sign, for counts that are negative or not below the width too."""
    inside = (b >= 0) & (b < width)
    most = (b ^ b) + (width - 1)
    return a >> tl.where(inside, b, most)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def fmax(a, b):
    """The other where one is nan."""
    return tl.where((a > b) | (b != b), a, b)


@triton.jit
def fmin(a, b):
    """The other where one is nan."""
    return tl.where((a < b) | (b != b), a, b)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def summed(x):
    """Rows to their sums."""
    return tl.sum(x, 1, keep_dims=True)


@triton.jit
def below(total, top, x):
    """The sum of exponentials below a maximum, with one more value: as far as either is below the larger of both."""
    one = tl.full((), 1, x.dtype)
    factor = tl.where(x == top, one, libdevice.exp(-tl.abs(x - top)))
    return tl.where(x > top, total * factor + one, total + factor)


@triton.jit
def lowered(total, top, highest):
    """A sum of exponentials below one maximum as one below another; of none, there is no maximum."""
    return tl.where(total == 0, total, total * libdevice.exp(top - highest))


@triton.jit
def any_of(x):
    return tl.max(x.to(tl.int32), 1, keep_dims=True) != 0


@triton.jit
def all_of(x):
    return tl.min(x.to(tl.int32), 1, keep_dims=True) != 0


if not INTERPRETED:

    @triton.jit
    def bfloat(x):
        """Rounded to the nearest, which the interpreter does not do."""
        return x.to(tl.bfloat16)

    @triton.jit
    def largest(x):
        """Rows to their maxima, nan where there is one."""
        return tl.reduce(x, 1, larger, keep_dims=True)

    @triton.jit
    def smallest(x):
        """Rows to their minima, nan where there is one."""
        return tl.reduce(x, 1, smaller, keep_dims=True)

    @triton.jit
    def multiplied(x):
        """Rows to their products."""
        return tl.reduce(x, 1, times, keep_dims=True)


NAMES = {name: value for name, value in globals().items() if hasattr(value, "arg_names")}
"""The names that the text of a kernel refers to."""
NAMES |= {"tl": tl, "triton": triton, "libdevice": libdevice}
NAMES |= {"bfloat": bfloat, "largest": largest, "smallest": smallest, "multiplied": multiplied}
