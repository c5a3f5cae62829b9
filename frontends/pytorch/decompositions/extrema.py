"""Maxima, minima and medians of whole tensors: their gradient is distributed evenly over ties.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.max() * torch.inf, x)
    >>> trace(gradient, (torch.ones(3, requires_grad=True),)).graph(torch.tensor([1.0, 3.0, 2.0]))[0].tolist()
    [0.0, inf, 0.0]

For tensor subclasses torch's own formula is a product with a mask: NaN where the gradient is infinite, and in the
input's layout.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite
from frontends.pytorch.symbolic.tensor import current_trace

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


class Extremum(torch.autograd.Function):
    """An operator with the gradient that torch gives to plain tensors: contiguous, zero where there is no tie."""

    @staticmethod
    def forward(ctx: Any, operator: torch._ops.OpOverload, self: Tensor) -> Tensor:
        with torch._C._AutoDispatchBelowAutograd():
            value: Tensor = operator(self)
        ctx.save_for_backward(self, value)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        self, value = ctx.saved_tensors
        with current_trace().nodes.lays_out():
            chosen = (self == value).logical_or(self.isnan().logical_and(value.isnan()))
            return None, grad.new_zeros(self.shape).masked_fill(chosen, grad / chosen.sum())


def extremum(operator: torch._ops.OpOverload) -> None:
    """Register an operator; within transforms of functions the formula is torch's."""

    def whole(self: Tensor) -> object:
        if torch._C._are_functorch_transforms_active():
            return operator._op_dk(DispatchKey.Autograd, self)
        if torch.is_grad_enabled() and self.requires_grad:
            return Extremum.apply(operator, self)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(self)

    composite(operator)(whole)


for _operator in (aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default):
    extremum(_operator)
