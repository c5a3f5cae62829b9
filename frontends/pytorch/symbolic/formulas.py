"""Optional size queries of torch's operators and gradient formulas, answered with the side that is valid for all sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.cumsum(0).sum(), x)
    >>> trace(gradient, (torch.randn(5, requires_grad=True),)).guards       # a sum along one element is that element
    ()

Torch's operators ask with `guard_or_false` where one answer is more general: whether a size is 1, whether a tensor is
contiguous. If the hints take the general path too, no guard is added, decided or not. If they do not (an axis of size 1
that is broadcast), it is an ordinary branch. Whether two sizes differ is asked only to skip an expansion, which is the
identity for equal sizes.

The formulas are C++ outside of any operator, and branch on sizes like a program: whether an axis has one element,
whether a remainder must be filled with zeros. One of the two sides is valid for all sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch

from shapes.env import ShapeEnv
from shapes.policies import Answer, OpenChoice, OpenQuestion, Unspecialized, follow_hint
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always, Never

COMPARISONS: Final = "c10/core/SymInt.h"
"""The C++ file that compares sizes."""
REDUCTIONS: Final = "autograd/input_metadata.cpp"
"""The C++ file that checks whether a gradient must be reduced because its tensor was broadcast."""

GENERAL: Final = {
    # whether an argument is column-major, so that its gradient could be
    ("MmBackward0", "eq"): False,
    ("AddmmBackward0", "eq"): False,
    # whether there is only one element
    ("CumsumBackward0", "eq"): False,
    ("CumsumBackward0", "ge"): False,
    ("ProdBackward0", "eq"): False,
    ("ProdBackward1", "eq"): False,
    # whether a transform omitted elements
    ("FftR2CBackward0", "ge"): True,
    ("FftC2RBackward0", "ge"): True,
    # whether an axis was expanded
    ("RepeatBackward0", "ne"): True,
    # whether a product is cheaper from the left or from the right
    ("LinalgPinvBackward0", "ge"): True,
    # whether channels are outermost: contiguous strides larger than 1
    ("MaxUnpool2DBackward0", "ge"): True,
    ("MaxUnpool3DBackward0", "ge"): True,
}
"""The answer to an undecided question, by formula and comparison."""


@dataclass(frozen=True, slots=True)
class GeneralPath(Unspecialized):
    """Every size is dynamic; a query with a fallback takes it without a guard."""

    name: str = "general path"

    def on_open(self, question: OpenQuestion) -> OpenChoice:
        fallback = question.fallback
        saves_an_expansion = fallback is False and question.prop.kind == "ne"
        if fallback is not None and (question.at_hint in (None, fallback) or saves_an_expansion):
            return Answer(fallback, "the general path of an operator")
        return follow_hint(question)


general_path: Final = GeneralPath()


def answer(env: ShapeEnv, value: object, file: str) -> bool | None:
    """Decide a branch of a formula, else take its general side; None if there is none, or no formula asks."""
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


def is_running() -> bool:
    """Return True if a gradient formula of C++ computes, whose numbers follow the machine's rules, not Python's."""
    formula = torch._C._current_autograd_node()
    return formula is not None and not isinstance(formula, torch.autograd.function.BackwardCFunction)


def is_of_function() -> bool:
    """Return True if the backward of a program's own `autograd.Function` with several results computes."""
    formula: Any = torch._C._current_autograd_node()
    return isinstance(formula, torch.autograd.function.BackwardCFunction) and len(formula._input_metadata) > 1


def is_of_gradient(file: str) -> bool:
    """Return True if C++ asks if a size is 1 in order to reduce a gradient."""
    return file.endswith(REDUCTIONS)
