"""Gradients of products along an axis, and of the trace.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.trace(), x)
    >>> variant = trace(gradient, (torch.randn(3, 4, requires_grad=True),))
    >>> [str(guard) for guard in variant.guards], variant.graph(torch.ones(2, 1))[0].tolist()
    ([], [[1.0], [0.0]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import override_gradient

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


@override_gradient(aten.cumprod_backward.default)
def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    """Before the first zero a sum divided by the element; at it the products without it; after it zero."""
    if not input.dim():
        return grad
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (grad, input, output)):
        return _with_one_left_out(grad, input, dim)
    zeros = (input == 0).cumsum(dim)
    before, between = zeros == 0, zeros == 1
    first = between & (input == 0)
    factors, products = input.conj(), output.conj()
    summed = (products * grad).masked_fill(~before, 0.0).flip(dim).cumsum(dim).flip(dim)
    behind = factors.masked_fill(~between | first, 1.0).cumprod(dim) * grad.masked_fill(~between, 0.0)
    ahead = factors.masked_fill(~before, 1.0).prod(dim, keepdim=True)
    at_zero = torch.where(first, behind.sum(dim, keepdim=True) * ahead, torch.zeros_like(behind))
    return torch.where(before, summed / factors.masked_fill(~before, 1.0), at_zero)


def _with_one_left_out(grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """For each element, all products with it replaced by 1: quadratic work, but differentiable."""
    input, grad = input.movedim(dim, -1), grad.movedim(dim, -1)
    size = input.shape[-1]
    places = torch.arange(size, device=input.device)
    left_out, reached = places.unsqueeze(1) == places, places.unsqueeze(1) <= places
    products = torch.where(left_out, 1.0, input.conj().unsqueeze(-2)).cumprod(-1)
    each = torch.where(reached, products * grad.unsqueeze(-2), 0.0)
    return each.sum(-1).movedim(-1, dim)


@override_gradient(aten.trace_backward.default)
def trace_backward(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient on the diagonal."""
    rows, columns = sizes
    lower = torch.arange(rows, device=grad.device).unsqueeze(1)
    return torch.where(lower == torch.arange(columns, device=grad.device), grad, torch.zeros_like(grad))
