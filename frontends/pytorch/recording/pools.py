"""adaptive_max_pool with a symbolic output_size (torch's C++ argument parser takes ints only).

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.nn.functional.adaptive_max_pool2d(x, (None, 1))
    >>> variant = trace(program, (torch.randn(1, 2, 4, 3),))
    >>> [str(guard) for guard in variant.guards], tuple(variant.graph(torch.randn(1, 2, 5, 6))[0].shape)
    ([], (1, 2, 5, 1))

The operators themselves accept symbolic sizes. So the call bypasses the parser to the recorder, with torch's gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, TypeAlias

import torch
from torch.autograd.function import once_differentiable

from frontends.pytorch.symbolic.tensor import Traced, current_trace

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


class Pooled(torch.autograd.Function):
    """The maximum of each window, and its index; `numbers` are further arguments of the gradient."""

    @staticmethod
    def forward(ctx: Any, word: str, numbers: Sequence[object], tensor: Tensor, *rest: object) -> object:
        values, places = current_trace().operator(getattr(aten, word).default, (tensor, *rest), {})
        ctx.word, ctx.numbers, ctx.count = word, numbers, len(rest)
        ctx.save_for_backward(tensor, places)
        ctx.mark_non_differentiable(places)
        return values, places

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[object, ...]:
        tensor, places = ctx.saved_tensors
        backward = getattr(aten, f"{ctx.word}_backward").default
        found = current_trace().operator(backward, (grad, tensor, *ctx.numbers, places), {})
        return (None, None, found, *[None] * ctx.count)


def numbers(output_size: object, axes: int) -> list[object] | None:
    """The number of windows along each axis, if the parser would reject it."""
    each = list(output_size) if isinstance(output_size, Sequence) else [output_size] * axes
    return each if len(each) == axes and any(isinstance(size, torch.SymInt) for size in each) else None


def largest(axes: int) -> Callable[..., object]:
    """`adaptive_max_pool2d` and the one over three axes."""
    word = f"adaptive_max_pool{axes}d"
    theirs = getattr(torch._C._nn, word)

    def adaptive_max_pool(input: Tensor, output_size: object) -> object:
        wanted = numbers(output_size, axes)
        if wanted is None or type(input) is not Traced:
            return theirs(input, output_size)
        return Pooled.apply(word, (), input, wanted)

    return adaptive_max_pool


def at_random(axes: int) -> Callable[..., object]:
    """`fractional_max_pool2d` and the one over three axes."""
    word = f"fractional_max_pool{axes}d"
    theirs = getattr(torch._C._nn, word)

    def fractional_max_pool(input: Tensor, kernel_size: object, output_size: object, samples: Tensor) -> object:
        wanted = numbers(output_size, axes)
        if wanted is None or type(input) is not Traced:
            return theirs(input, kernel_size, output_size, samples)
        kernel = list(kernel_size) if isinstance(kernel_size, Sequence) else [kernel_size] * axes
        return Pooled.apply(word, (kernel, wanted), input, kernel, wanted, samples)

    return fractional_max_pool


def over_one_axis(theirs: Callable[..., object], over_two: Callable[..., Any]) -> Callable[..., object]:
    """1-D pooling as 2-D pooling with an axis of extent 1."""

    def pool(input: Tensor, output_size: object) -> object:
        wanted = numbers(output_size, 1)
        if wanted is None:
            return theirs(input, output_size)
        found = over_two(input.unsqueeze(-2), [1, *wanted])
        return tuple([each.squeeze(-2) for each in found]) if isinstance(found, tuple) else found.squeeze(-2)

    return pool


AVERAGE: Final = over_one_axis(torch.adaptive_avg_pool1d, torch.nn.functional.adaptive_avg_pool2d)
PLACES: Final[tuple[tuple[ModuleType, str, Callable[..., object]], ...]] = (
    *[(torch._C._nn, f"adaptive_max_pool{axes}d", largest(axes)) for axes in (2, 3)],
    *[(torch._C._nn, f"fractional_max_pool{axes}d", at_random(axes)) for axes in (2, 3)],
    (torch, "adaptive_max_pool1d", over_one_axis(torch.adaptive_max_pool1d, largest(2))),
    (torch, "adaptive_avg_pool1d", AVERAGE),
    (torch.nn.functional, "adaptive_avg_pool1d", AVERAGE),
)
"""The attributes through which they are called."""
