"""Gradients of variances and standard deviations with Bessel's correction.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.var(), x)
    >>> variant = trace(gradient, (torch.randn(5, requires_grad=True),))
    >>> [str(guard) for guard in variant.guards], variant.graph(torch.tensor([1.0, 3.0]))[0].tolist()
    ([], [-2.0, 2.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, added, gradient

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


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
