"""Queries about sizes by torch itself: optional ones of operators, those of gradient formulas, and checks.

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

Of a check by `torch._check` and its variants, torch passes on the condition alone; text and class of its error are read
from its callers' frames, as by torch for its messages.

    >>> def program(x):
    ...     number = x.sum().item()
    ...     torch._check_value(number > 2, lambda: "too small")
    ...     return x * number
    >>> [(str(check), check.error.__name__) for check in trace(program, (torch.tensor([3]),)).runtime_asserts]
    [('u0 >= 3: too small', 'ValueError')]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final

import torch

from frontends.pytorch.errors import unsupported
from shapes.env import ShapeEnv
from shapes.policies import Answer, OpenChoice, OpenQuestion, Unspecialized, follow_hint
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always, Never

COMPARISONS: Final = "c10/core/SymInt.h"
"""The C++ file that compares sizes."""
REDUCTIONS: Final = "autograd/input_metadata.cpp"
"""The C++ file that checks whether a gradient must be reduced because its tensor was broadcast."""
INDEXING: Final = "TensorIndexing.h"
"""The C++ file that inspects the numbers in `x[n]`."""

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


def stated(file: str) -> tuple[str, type[Exception]]:
    """The text and the class of the error of the check that torch passes on to a node, with its file.

    Raises:
        Unsupported: the class is none of Python's.
    """
    # beside this function: the node's method, torch's function that calls it, the check
    frame = sys._getframe(3) if file == torch.__file__ else None
    if frame is None or frame.f_code is not torch._check_with.__code__:
        return "", IndexError if file.endswith(INDEXING) else RuntimeError
    error, message = frame.f_locals["error_type"], frame.f_locals["message"]
    if error.__module__ != "builtins":
        unsupported(f"a check that raises {error.__qualname__}, which the program defines", "raise another one")
    said = message() if callable(message) else message
    return str(said or ""), error
