"""Facts about a size that an operator makes from data, by the operator.

    >>> import sympy
    >>> u, n = sympy.symbols("u n", integer=True)
    >>> facts_of("nonzero", u, n), facts_of("_unique", u, n)
    ((u <= n,), (u <= n, u >= Min(1, n)))

Torch bounds such a size by the number of elements where that is a constant.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Final

import sympy
import torch
from torch._subclasses import fake_impls

FILE: Final = fake_impls.__file__


def made_by(caller: FrameType | None, size: sympy.Expr) -> tuple[sympy.Basic, ...]:
    """The facts about a new size, from the function of torch's that asked for it."""
    if caller is None or caller.f_code.co_filename != FILE:
        return ()
    name, given = caller.f_code.co_name, caller.f_locals
    tensor, dim = given.get("arg"), given.get("dim")
    if not isinstance(tensor, torch.Tensor) or name not in ("nonzero", "_unique"):
        return ()
    return facts_of(name, size, expression(tensor.numel() if dim is None else tensor.shape[dim]))


def facts_of(name: str, size: sympy.Expr, most: sympy.Expr) -> tuple[sympy.Basic, ...]:
    """Bounds by operator: a result has at most as many elements as its input; `unique` of a nonempty one is nonempty.
    """
    at_most = sympy.Le(size, most)
    return (at_most, sympy.Ge(size, sympy.Min(most, 1))) if name == "_unique" else (at_most,)


def expression(number: Any) -> sympy.Expr:
    return number.node.expr if isinstance(number, torch.SymInt) else sympy.Integer(number)
