"""Subgradients of extrema: distributed evenly over ties.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.max() * torch.inf, x)
    >>> trace(gradient, (torch.ones(3, requires_grad=True),)).graph(torch.tensor([1.0, 3.0, 2.0]))[0].tolist()
    [0.0, inf, 0.0]

Torch has one formula for plain tensors and another for tensor subclasses: that is a product with a mask, which is nan
where the gradient is infinite, in the input's layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, gradient

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


def shared_evenly(grads: Gradients, args: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[Tensor | None]:
    """The gradient in a contiguous tensor of zeros."""
    (grad,), (input, *_), (value,) = grads, args, outputs
    if grad is None:
        return (None,)
    chosen = (input == value).logical_or(input.isnan().logical_and(value.isnan()))
    return (grad.new_zeros(input.shape).masked_fill(chosen, grad / chosen.sum()),)


for _operator in (aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default):
    gradient(_operator)(shared_evenly)
