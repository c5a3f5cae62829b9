"""Signs of zeros, infinities and nan in kernels: where IEEE 754 or torch says what they are, on every processor.

Of two zeros, torch's `maximum` and `minimum` give either: in whole vectors the second, in what is left of a row the
first, and how much is left depends on the processor. Kernels give the second everywhere.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import compile

VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, math.inf, -math.inf, math.nan]
ONE = {
    "abs": torch.abs, "neg": torch.neg, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
    "trunc": torch.trunc, "sqrt": torch.sqrt, "sign": torch.sign, "reciprocal": torch.reciprocal,
    "nan_to_num": torch.nan_to_num, "times zero": lambda x: x * 0.0, "times -1": lambda x: x * -1,
    "plus zero": lambda x: x + 0.0, "minus zero": lambda x: x - 0.0, "zero minus": lambda x: 0.0 - x,
    "fmod": lambda x: torch.fmod(x, 2.0), "remainder": lambda x: torch.remainder(x, 2.0),
    "remainder of a negative": lambda x: torch.remainder(x, -2.0), "floor division": lambda x: x // 2.0,
    "between": lambda x: x.clamp(-1, 1), "hardtanh": functional.hardtanh,
}  # fmt: skip
TWO = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "copysign": torch.copysign,
    "where": lambda x, y: torch.where(x > y, x, y), "fmod": torch.fmod, "remainder": torch.remainder,
    "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax, "fmin": torch.fmin,
}  # fmt: skip
EITHER = ("maximum", "minimum", "fmax", "fmin")


def assert_same_bits(found: torch.Tensor, expected: torch.Tensor, name: str) -> None:
    """Equal numbers of equal sign; any nan is as good as another."""
    torch.testing.assert_close(found, expected, equal_nan=True)
    there = ~torch.isnan(expected)
    assert torch.equal(torch.signbit(found)[there], torch.signbit(expected)[there]), (name, found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_one_operand(dtype):
    """A zero loses its sign, or infinity and nan are another thing."""
    x = torch.tensor(VALUES * 3, dtype=dtype)
    found = compile(lambda x: [program(x) for program in ONE.values()], backend="cpu")(x)
    for name, each in zip(ONE, found, strict=True):
        assert_same_bits(each, ONE[name](x), name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_operands(dtype):
    """The same with all pairs; `maximum` drops nan, or `fmax` passes it on."""
    x, y = torch.tensor(list(itertools.product(VALUES, VALUES)), dtype=dtype).unbind(1)
    found = compile(lambda x, y: [program(x, y) for program in TWO.values()], backend="cpu")(x, y)
    for name, each in zip(TWO, found, strict=True):
        either = (x == 0) & (y == 0) if name in EITHER else torch.zeros_like(x, dtype=torch.bool)
        assert_same_bits(each[~either], TWO[name](x, y)[~either], name)


def test_which_of_two_zeros():
    """A place of a row has another zero than others."""
    programs = [getattr(torch, name) for name in EITHER]
    compiled = compile(lambda x, y: [program(x, y) for program in programs], backend="cpu", dynamic=True)
    for size, zero in itertools.product((1, 3, 8, 16, 17, 35), (0.0, -0.0)):
        zeros = torch.full((size,), zero)
        for name, found in zip(EITHER, compiled(zeros, -zeros), strict=True):
            signs = set(torch.signbit(found).tolist())
            assert len(signs) == 1, (name, size)
            assert name.startswith("f") or signs == {bool(torch.signbit(-zeros[0]))}, (name, size)
