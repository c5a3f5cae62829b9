"""Optional size queries of torch's gradient formulas, answered in the way that is right for all sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.cumsum(0).sum(), x)
    >>> trace(gradient, (torch.randn(5, requires_grad=True),)).guards       # a sum along one element is that element
    ()

The formulas are C++ below no operator, and branch on a size as a program does: whether there is one element along an
axis, whether something is left to fill with zeros. One of both ways is right for all sizes.
"""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.symbolic.values import Value
from shapes.env import ShapeEnv
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always, Never

COMPARISONS: Final = "c10/core/SymInt.h"
"""Where C++ compares a size with a number, or one with another."""
REDUCTIONS: Final = "autograd/input_metadata.cpp"
"""Where C++ looks whether a gradient is to be summed up, since what it belongs to was broadcast."""

GENERAL: Final = {
    # whether an argument lies column by column, so that its gradient could
    ("MmBackward0", "eq"): False,
    ("AddmmBackward0", "eq"): False,
    # whether there is but one element
    ("CumsumBackward0", "eq"): False,
    ("CumsumBackward0", "ge"): False,
    ("ProdBackward0", "eq"): False,
    ("ProdBackward1", "eq"): False,
    # whether there are places that a transform left out
    ("FftR2CBackward0", "ge"): True,
    ("FftC2RBackward0", "ge"): True,
    # whether an axis was repeated
    ("RepeatBackward0", "ne"): True,
    # whether a product is cheaper from the left or from the right
    ("LinalgPinvBackward0", "ge"): True,
    # whether channels lie outside: strides of a packed tensor are larger than 1
    ("MaxUnpool2DBackward0", "ge"): True,
    ("MaxUnpool3DBackward0", "ge"): True,
}
"""The answer to an open question by formula and kind of proposition."""


def answer(env: ShapeEnv, value: Value, file: str) -> bool | None:
    """What is known of a branch in a formula, else the general way; None where there is none, or no formula asks."""
    if not file.endswith(COMPARISONS) or type(value) is not SymBool:
        return None
    formula = torch._C._current_autograd_node()
    general = GENERAL.get((formula.name(), value.prop.kind)) if formula is not None else None
    if general is None:
        return None
    match env.ask(value):
        case Always():
            return True
        case Never():
            return False
        case _:
            return general


def is_of_gradient(file: str) -> bool:
    """Whether C++ asks if a size is 1, to see that its gradient is to be summed up."""
    return file.endswith(REDUCTIONS)
