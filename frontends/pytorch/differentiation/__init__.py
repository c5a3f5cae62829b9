"""Gradient formulas for symbolic sizes, where torch's C++ formulas need concrete sizes or branch on them.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.cumprod(0).sum(), x)
    >>> variant = trace(gradient, (torch.randn(5, requires_grad=True),))
    >>> variant.guards
    ()
    >>> variant.graph(torch.tensor([2.0, 0.0, 3.0]))[0].tolist()
    [1.0, 8.0, 0.0]

The operator itself is recorded unchanged; `gradient` registers its formula. Some of torch's formulas are operators,
which `override_gradient` replaces. Both apply while a trace runs. One family in each file.
"""

from __future__ import annotations

import importlib
from typing import Final

from frontends.pytorch.differentiation.registry import GRADIENTS, gradient, override_gradient

FAMILIES: Final = ("reductions", "linalg", "pointwise")

for family in FAMILIES:
    importlib.import_module(f"frontends.pytorch.differentiation.{family}")

__all__ = ["GRADIENTS", "gradient", "override_gradient"]
