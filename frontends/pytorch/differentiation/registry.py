"""Registry of gradient formulas that override torch's.

    >>> import torch
    >>> from frontends.pytorch.differentiation.registry import GRADIENTS
    >>> torch.ops.aten.cumprod_backward.default in GRADIENTS
    True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.symbolic.tensor import current_trace

Tensor: TypeAlias = torch.Tensor
Gradients: TypeAlias = Sequence[Tensor | None]
Formula: TypeAlias = Callable[..., tuple[Tensor | None, ...]]
"""Maps the outputs' gradients, the arguments, the outputs and the options to the arguments' gradients."""

GRADIENTS: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}


def override_gradient(operator: torch._ops.OpOverload) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function that replaces an operator."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        GRADIENTS[operator] = function
        return function

    return register


class Applied(torch.autograd.Function):
    """An operator with our gradient formula, as an autograd function."""

    @staticmethod
    def forward(
        ctx: Any, operator: torch._ops.OpOverload, formula: Formula, fixed: Sequence[int], options: dict[str, object],
        *args: object,
    ) -> object:  # fmt: skip
        with torch._C._AutoDispatchBelowAutograd():
            found = operator(*args, **options)
        outputs = found if isinstance(found, tuple) else (found,)
        ctx.formula, ctx.options = formula, options
        ctx.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.save_for_backward(*[arg for arg in args if isinstance(arg, torch.Tensor)], *outputs)
        ctx.tensors = [place for place, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.mark_non_differentiable(*[outputs[place] for place in fixed])
        ctx.set_materialize_grads(False)
        return tuple(outputs) if isinstance(found, tuple) else found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[object, ...]:
        saved, args = ctx.saved_tensors, list(ctx.args)
        for place, tensor in zip(ctx.tensors, saved):
            args[place] = tensor
        with current_trace().nodes.lays_out():
            found = ctx.formula(grads, args, saved[len(ctx.tensors) :], **ctx.options)
        return (None, None, None, None, *found, *[None] * (len(args) - len(found)))


def gradient(
    operator: torch._ops.OpOverload, *, fixed: Sequence[int] = (), when: Callable[..., bool] | None = None
) -> Callable[[Formula], Formula]:
    """Register the formula of an operator; the outputs with indices `fixed` have no gradient.

    Torch's formula is kept if `when` is false for the arguments, and within `torch.func` transforms.
    """

    def register(formula: Formula) -> Formula:
        @override_gradient(operator)
        def applied(*args: object, **options: object) -> object:
            wanted = torch.is_grad_enabled()
            if not wanted or not any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args):
                with torch._C._AutoDispatchBelowAutograd():
                    return operator(*args, **options)
            if torch._C._are_functorch_transforms_active() or when is not None and not when(*args, **options):
                return operator._op_dk(DispatchKey.Autograd, *args, **options)
            return Applied.apply(operator, formula, fixed, options, *args)

        return formula

    return register


def added(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The sum of two gradients, each possibly None."""
    return other if one is None else one if other is None else one + other
