"""Gradients of elementwise operators for which C++ allocates zeros of concrete sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.sgn().sum(), x)
    >>> trace(gradient, (torch.randn(5, requires_grad=True),)).guards
    ()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.differentiation.registry import Gradients, gradient

aten: Final = torch.ops.aten


def is_real(tensor: torch.Tensor) -> bool:
    return not tensor.is_complex()


@gradient(aten.sgn.default, when=is_real)
def sign(grads: Gradients, args: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor | None]:
    """The derivative of a real number's sign is zero."""
    (grad,) = grads
    return (None if grad is None else torch.zeros_like(grad),)
