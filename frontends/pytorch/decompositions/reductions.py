"""Reductions with gradients of ours: of products and variances they branch on no size, of extrema they are even.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x[x > 0].prod(), x)
    >>> trace(gradient, (torch.ones(3, requires_grad=True),)).graph(torch.tensor([-1.0, 3.0, 2.0]))[0].tolist()
    [0.0, 2.0, 3.0]

Torch's formulas are right for one element and more, or ask how many there are. Where the sizes are those of arguments,
they stay, except for maxima, minima and medians of whole tensors: for tensor subclasses torch's is a product with a
mask, NaN where the gradient is infinite, and in the input's layout.

    >>> def of_largest(x):
    ...     return torch.autograd.grad(x.max() * torch.inf, x)
    >>> trace(of_largest, (torch.ones(3, requires_grad=True),)).graph(torch.tensor([1.0, 3.0, 2.0]))[0].tolist()
    [0.0, inf, 0.0]

Max pooling of rows is that of images, and adaptive average pooling to one window a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite
from frontends.pytorch.symbolic.node import ours
from frontends.pytorch.symbolic.tensor import Traced, current_trace
from shapes.rules.memory_order import is_packed

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


class Reduction(torch.autograd.Function):
    """An operator with a gradient of ours: `formula` is given the gradient, the tensor, the result and the axes."""

    @staticmethod
    def forward(ctx: Any, call: Any, formula: Any, self: Tensor, dims: list[int], keepdim: bool) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            value = call()
        ctx.save_for_backward(self, value)
        ctx.formula, ctx.dims, ctx.keepdim = formula, dims, keepdim
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        self, value = ctx.saved_tensors
        if not ctx.keepdim:
            for dim in sorted(ctx.dims):
                grad, value = grad.unsqueeze(dim), value.unsqueeze(dim)
        return None, None, ctx.formula(grad, self, value, ctx.dims), None, None


def reduction(operator: torch._ops.OpOverload, formula: Any, *, always: bool = False) -> None:
    """Register an operator; within transforms of functions and, if not `always`, for known sizes the formula is
    torch's."""
    corrects = operator in (aten.var.correction, aten.std.correction)

    def whole(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        follows = torch.is_grad_enabled() and self.requires_grad and kwargs.get("dtype") is None
        is_ours = follows and not torch._C._are_functorch_transforms_active() and not self.is_complex()
        if not is_ours or not (always or is_counted(self)):
            return operator._op_dk(DispatchKey.Autograd, self, *args, **kwargs)
        given = dict(zip([each.name for each in operator._schema.arguments[1:]], args)) | kwargs
        dim = given.get("dim")
        listed = [dim] if isinstance(dim, int) else list(dim or range(self.dim()))
        dims = [each % self.dim() for each in listed]
        options = [1 if given.get("correction") is None else given["correction"]] if corrects else []
        call = partial(operator, self, *args, **kwargs)
        return Reduction.apply(call, partial(formula, *options), self, dims, bool(given.get("keepdim")))

    composite(operator)(whole)


def is_counted(tensor: Tensor) -> bool:
    """Return True if a size of a tensor has no hint: it is data-dependent."""
    return any(ours(size) and size.node.hint is None for size in tensor.shape)


def of_product(grad: Tensor, self: Tensor, value: Tensor, dims: list[int]) -> Tensor:
    """The gradient of a product: the quotient by the element, or the product of the rest if only this one is 0."""
    zero = self == 0
    rest = torch.where(zero, 1, self)
    for dim in dims:
        rest = rest.prod(dim, keepdim=True)
    alone = zero & (zero.sum(dims, keepdim=True) == 1)
    return grad * torch.where(zero, torch.where(alone, rest, 0), value / self)


def of_variance(correction: float, grad: Tensor, self: Tensor, value: Tensor, dims: list[int]) -> Tensor:
    """The gradient of a variance: a quotient by 0 if no degree of freedom is left."""
    wide = torch.float64 if self.dtype is torch.float64 else torch.float32
    freedom = torch.ones_like(self, dtype=wide).sum(dims, keepdim=True) - correction
    return (2 / freedom * grad).to(self.dtype) * (self - self.mean(dims, keepdim=True))


def of_deviation(correction: float, grad: Tensor, self: Tensor, value: Tensor, dims: list[int]) -> Tensor:
    return of_variance(correction, (grad / (value * 2)).masked_fill(value == 0, 0), self, value, dims)


def of_extremum(grad: Tensor, self: Tensor, value: Tensor, dims: list[int]) -> Tensor:
    """The gradient of an extremum: contiguous, divided evenly over ties."""
    with current_trace().nodes.lays_out():
        chosen = (self == value).logical_or(self.isnan().logical_and(value.isnan()))
        return grad.new_zeros(self.shape).masked_fill(chosen, (grad / chosen.sum()).reshape(()))


reduction(aten.prod.default, of_product)
reduction(aten.prod.dim_int, of_product)
reduction(aten.var.correction, of_variance)
reduction(aten.std.correction, of_deviation)
for _operator in (aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default):
    reduction(_operator, of_extremum, always=True)


# ---------------------------------------------------------------------- pooling


@composite(aten.max_pool1d.default)
def max_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    """1-D max pooling as 2-D pooling over an axis of extent 1. Without gradients eager torch has a separate kernel with
    a contiguous result, which refuses integers."""
    torch._check_not_implemented(self.is_floating_point(), lambda: f"max_pool1d is not implemented for {self.dtype}")
    two = [(1, *stride) if stride else (1, *kernel_size), (0, *padding), (1, *dilation)]
    pooled = aten.max_pool2d_with_indices(self.unsqueeze(-2), (1, *kernel_size), *two, ceil_mode)[0].squeeze(-2)
    is_followed = torch.is_grad_enabled() and self.requires_grad
    return pooled if is_followed or self.device.type != "cpu" else pooled.contiguous()


def adaptive_average(operator: torch._ops.OpOverload, whole: torch._ops.OpOverload, axes: int) -> None:
    """Adaptive average pooling, a mean if there is one window, as in torch.

    A contiguous input's layout depends on no size.
    """

    def pool(self: Tensor, output_size: Sequence[int | torch.SymInt]) -> object:
        if any(type(size) is not int for size in output_size):
            return whole(self, output_size)
        if all(size == 1 for size in output_size) and type(self) is Traced and is_packed(self.metadata.shape):
            return self.mean(list(range(-axes, 0)), keepdim=True)
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, output_size)

    composite(operator)(pool)


adaptive_average(aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default, 2)
adaptive_average(aten.adaptive_avg_pool3d.default, aten._adaptive_avg_pool3d.default, 3)
