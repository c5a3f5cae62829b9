"""Gradients of products along an axis, of the trace, of variances and of extrema.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.trace(), x)
    >>> variant = trace(gradient, (torch.randn(3, 4, requires_grad=True),))
    >>> [str(guard) for guard in variant.guards], variant.graph(torch.ones(2, 1))[0].tolist()
    ([], [[1.0], [0.0]])
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.var(), x)
    >>> variant = trace(gradient, (torch.randn(5, requires_grad=True),))
    >>> [str(guard) for guard in variant.guards], variant.graph(torch.tensor([1.0, 3.0]))[0].tolist()
    ([], [-2.0, 2.0])
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.max() * torch.inf, x)
    >>> trace(gradient, (torch.ones(3, requires_grad=True),)).graph(torch.tensor([1.0, 3.0, 2.0]))[0].tolist()
    [0.0, inf, 0.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, added, gradient, override_gradient

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


# ---------------------------------------------------------------------- products along an axis, and the trace


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


# ---------------------------------------------------------------------- variances, with Bessel's correction


def deviation_gradient(
    grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: float, keepdim: bool
) -> Tensor:
    """The gradient of a variance. With too few elements it divides by zero or a negative number, as in torch."""
    along = list(range(self.dim())) if not dim else sorted([axis % self.dim() for axis in dim] if self.dim() else [])
    mean = self.mean(along, keepdim=True) if along else self
    if not keepdim:
        for axis in along:
            grad = grad.unsqueeze(axis)
    freedom = torch.scalar_tensor(_count(self, along) - correction, dtype=grad.dtype, device=grad.device)
    found = 2.0 / freedom * grad * (self - mean)
    if dim is not None and self.dim():
        return found
    return torch.where(freedom <= 0, grad * torch.where(self == mean, torch.nan, torch.inf), found)


def _count(self: Tensor, axes: Sequence[int]) -> int:
    """The number of reduced elements."""
    count = 1
    for axis in axes:
        count = count * self.shape[axis]
    return count


def _register_deviation(word: str, *, root: bool, with_mean: bool) -> None:
    operator = getattr(aten, word).correction

    @gradient(operator)
    def deviation(
        grads: Gradients, args: Sequence[Any], outputs: Sequence[Tensor], *, dim: Sequence[int] | None = None,
        correction: float | None = None, keepdim: bool = False,
    ) -> tuple[Tensor | None]:  # fmt: skip
        self, dim = args[0], args[1] if len(args) > 1 else dim
        found = None
        if grads[0] is not None:
            grad = grads[0]
            if root:
                grad = (grad / (outputs[0] * 2)).masked_fill(outputs[0] == 0, 0)
            found = deviation_gradient(grad, self, dim, 1 if correction is None else correction, keepdim)
        if with_mean and grads[1] is not None:
            grad, axes = grads[1], sorted([axis % self.dim() for axis in dim or range(self.dim())])
            if not keepdim:
                for axis in axes:
                    grad = grad.unsqueeze(axis)
            found = added(found, grad.expand(self.shape) / _count(self, axes))
        return (found,)


for _word, _root, _with_mean in (
    ("var", False, False), ("std", True, False), ("var_mean", False, True), ("std_mean", True, True),
):  # fmt: skip
    _register_deviation(_word, root=_root, with_mean=_with_mean)


# ---------------------------------------------------------------------- extrema: distributed evenly over ties


# torch has one formula for plain tensors and another for tensor subclasses: that is a product with a mask, which is nan
# where the gradient is infinite, in the input's layout
def shared_evenly(grads: Gradients, args: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[Tensor | None]:
    """The gradient in a contiguous tensor of zeros."""
    (grad,), (input, *_), (value,) = grads, args, outputs
    if grad is None:
        return (None,)
    chosen = (input == value).logical_or(input.isnan().logical_and(value.isnan()))
    return (grad.new_zeros(input.shape).masked_fill(chosen, grad / chosen.sum()),)


for _operator in (aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default):
    gradient(_operator)(shared_evenly)
