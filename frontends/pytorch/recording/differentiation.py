"""Gradients whose formula in C++ wants plain numbers, or another formula for other sizes: by one that is right for all.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(x.cumprod(0).sum(), x)
    >>> variant = trace(gradient, (torch.randn(5, requires_grad=True),))
    >>> variant.guards
    ()
    >>> variant.graph(torch.tensor([2.0, 0.0, 3.0]))[0].tolist()
    [1.0, 8.0, 0.0]

The operator itself is recorded as it is; `gradient` gives it a formula. Some of C++'s formulas are operators, for which
`instead` gives another. Both stand in for torch's while a trace runs (`installed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.recording.composites import standing_in
from frontends.pytorch.recording.recorder import current_recorder
from frontends.pytorch.recording.references import same

aten: Final = torch.ops.aten
Tensor = torch.Tensor
Gradients: TypeAlias = Sequence[Tensor | None]
Formula: TypeAlias = Callable[..., tuple[Tensor | None, ...]]
"""From the gradients of the outputs, the arguments, the outputs and the options to the gradients of the arguments."""


GRADIENTS: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}


def installed() -> AbstractContextManager[None]:
    """The gradients given here, while this lasts."""
    return standing_in(GRADIENTS)


def instead(operator: torch._ops.OpOverload) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function to run in the place of an operator."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        GRADIENTS[operator] = function
        return function

    return register


class Applied(torch.autograd.Function):
    """An operator with a formula of ours behind it."""

    @staticmethod
    def forward(
        ctx: Any, operator: torch._ops.OpOverload, formula: Formula, fixed: Sequence[int], options: dict[str, object],
        *args: object,
    ) -> object:  # fmt: skip
        with torch._C._AutoDispatchBelowAutograd():
            found = operator(*args, **options)
        outputs = found if isinstance(found, tuple) else (found,)
        ctx.formula, ctx.options = formula, options
        ctx.args = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.save_for_backward(*[arg for arg in args if isinstance(arg, Tensor)], *outputs)
        ctx.tensors = [place for place, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.mark_non_differentiable(*[outputs[place] for place in fixed])
        ctx.set_materialize_grads(False)
        return tuple(outputs) if isinstance(found, tuple) else found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[object, ...]:
        saved, args = ctx.saved_tensors, list(ctx.args)
        for place, tensor in zip(ctx.tensors, saved):
            args[place] = tensor
        with current_recorder().nodes.lays_out():
            found = ctx.formula(grads, args, saved[len(ctx.tensors) :], **ctx.options)
        return (None, None, None, None, *found, *[None] * (len(args) - len(found)))


def gradient(operator: torch._ops.OpOverload, *, fixed: Sequence[int] = ()) -> Callable[[Formula], Formula]:
    """Register the formula of an operator; the outputs at the places `fixed` have no gradient."""

    def register(formula: Formula) -> Formula:
        @instead(operator)
        def applied(*args: object, **options: object) -> object:
            if torch.is_grad_enabled() and any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
                return Applied.apply(operator, formula, fixed, options, *args)
            with torch._C._AutoDispatchBelowAutograd():
                return operator(*args, **options)

        return formula

    return register


# ---------------------------------------------------------------------- products along an axis


@instead(aten.cumprod_backward.default)
def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    """Before the first zero a sum divided by the element; at it the products without it; behind it nothing."""
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
    """For each element, all products with a 1 in its place: as many times the elements, but it has a gradient."""
    input, grad = input.movedim(dim, -1), grad.movedim(dim, -1)
    size = input.shape[-1]
    places = torch.arange(size, device=input.device)
    left_out, reached = places.unsqueeze(1) == places, places.unsqueeze(1) <= places
    products = torch.where(left_out, 1.0, input.conj().unsqueeze(-2)).cumprod(-1)
    each = torch.where(reached, products * grad.unsqueeze(-2), 0.0)
    return each.sum(-1).movedim(-1, dim)


# ---------------------------------------------------------------------- a diagonal


@instead(aten.trace_backward.default)
def trace_backward(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient on the diagonal."""
    rows, columns = sizes
    lower = torch.arange(rows, device=grad.device).unsqueeze(1)
    return torch.where(lower == torch.arange(columns, device=grad.device), grad, torch.zeros_like(grad))


# ---------------------------------------------------------------------- lower and upper factors


def lu_gradient(
    lower_gradient: Tensor | None, upper_gradient: Tensor | None, permutation: Tensor, lower: Tensor, upper: Tensor
) -> Tensor | None:
    """The gradient of a matrix, from those of its factors.

    A matrix of n rows has columns beside the square that is factored, or rows below it, or neither: both are taken to
    be there, and may be empty.
    """
    rows, square, columns = lower.shape[-2], lower.shape[-1], upper.shape[-1]
    wide, tall = not same(columns, square), not same(rows, square)
    first, under = _cut(lower, -2, square, tall)
    second, beside = _cut(upper, -1, square, wide)
    below = above = left = right = None
    if lower_gradient is not None:
        on_square, left = _cut(lower_gradient, -2, square, tall)
        below = first.mH @ on_square
        above = None if left is None else -(under.mH @ left)
    if upper_gradient is not None:
        on_square, right = _cut(upper_gradient, -1, square, wide)
        above = _sum(above, on_square @ second.mH)
        below = below if right is None else _sum(below, -(right @ beside.mH))
    core = _sum(None if below is None else below.tril(-1), None if above is None else above.triu())
    if core is None:
        return None
    solve = torch.linalg.solve_triangular
    core = solve(second.mH, core, upper=False, left=False)
    core = solve(first.mH, core, upper=True, unitriangular=True)
    if wide:
        right = core.new_zeros((*core.shape[:-1], columns - square)) if right is None else right
        core = torch.cat([core, solve(first.mH, right, upper=True, unitriangular=True)], -1)
    if tall:
        left = core.new_zeros((*core.shape[:-2], rows - square, square)) if left is None else left
        left = solve(second.mH, left, upper=False, left=False)
        if wide:
            left = torch.cat([left, left.new_zeros((*left.shape[:-1], columns - square))], -1)
        core = torch.cat([core, left], -2)
    return permutation @ core if permutation.dim() > 1 else core


def _cut(tensor: Tensor, axis: int, size: int, more: bool) -> tuple[Tensor, Tensor | None]:
    """The first places of an axis, and the rest if there may be one."""
    return (aten.slice(tensor, axis, 0, size), aten.slice(tensor, axis, size)) if more else (tensor, None)


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return other if one is None else one if other is None else one + other


@gradient(aten.linalg_lu.default, fixed=(0,))
def lu(grads: Gradients, args: Sequence[Tensor], outputs: Sequence[Tensor], **options: bool) -> tuple[Tensor | None]:
    permutation, lower, upper = outputs
    return (lu_gradient(grads[1], grads[2], permutation, lower, upper),)


@gradient(aten.linalg_lu_factor_ex.default, fixed=(1, 2))
def lu_factor(
    grads: Gradients, args: Sequence[Tensor], outputs: Sequence[Tensor], **options: bool
) -> tuple[Tensor | None]:
    packed, pivots, _ = outputs
    grad = grads[0]
    if grad is None:
        return (None,)
    permutation, lower, upper = torch.lu_unpack(packed, pivots, unpack_pivots=options.get("pivot", True))
    square = lower.shape[-1]
    on_lower, on_upper = aten.slice(grad, -1, 0, square), aten.slice(grad, -2, 0, square)
    return (lu_gradient(on_lower, on_upper, permutation, lower, upper),)


@gradient(aten.lu_unpack.default, fixed=(0,))
def lu_unpack(
    grads: Gradients, args: Sequence[Tensor], outputs: Sequence[Tensor], **options: bool
) -> tuple[Tensor | None]:
    """Each factor is a part of the argument."""
    rows, columns = args[0].shape[-2:]
    _, lower, upper = grads
    if lower is not None:
        lower = aten.constant_pad_nd(lower.tril(-1), [0, columns - lower.shape[-1]])
    if upper is not None:
        upper = aten.constant_pad_nd(upper.triu(), [0, 0, 0, rows - upper.shape[-2]])
    return (_sum(lower, upper),)


# ---------------------------------------------------------------------- reflections


def reflections_gradient(
    reflectors: Tensor, scales: Tensor, times: Callable[[Tensor], Tensor], adjoint_times: Callable[[Tensor], Tensor]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the columns that define reflections, and of their scales, from that of the product of all.

    The product is Q = 1 - V T V^H, with V unit lower triangular, S what is above the diagonal of V^H V, D the scales,
    and T = M^-1 D with M = 1 + D S. `times` multiplies the gradient of Q with a matrix, `adjoint_times` its adjoint.
    """
    if any(type(size) is int and size == 0 for size in (*reflectors.shape, *scales.shape)):
        return None, None
    rows, count = reflectors.shape[-2], scales.shape[-1]
    options = {"dtype": reflectors.dtype, "device": reflectors.device}
    columns = aten.slice(reflectors, -1, 0, count).tril(-1) + torch.eye(rows, count, **options)
    above = (columns.mH @ columns).triu(1)
    diagonal = scales.unsqueeze(-1)
    system = torch.eye(count, **options) + diagonal * above
    solve = torch.linalg.solve_triangular
    middle = solve(system, torch.diag_embed(scales), upper=True, unitriangular=True)
    forward, backward = times(columns), adjoint_times(columns)
    on_middle = solve(system.mH, -(columns.mH @ forward), upper=False, unitriangular=True)
    on_above = (-(diagonal.conj() * on_middle) @ middle.mH).triu(1)
    on_scales = (on_middle * (torch.eye(count, **options) - above @ middle).conj()).sum(-1)
    on_columns = columns @ (on_above + on_above.mH) - forward @ middle.mH - backward @ middle
    padded = aten.constant_pad_nd(on_columns.tril(-1), [0, reflectors.shape[-1] - count])
    return padded, on_scales


@gradient(aten.linalg_householder_product.default)
def householder_product(
    grads: Gradients, args: Sequence[Tensor], outputs: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The first columns of the product."""
    (grad,) = grads
    reflectors, scales = args
    if grad is None:
        return None, None
    rows, columns = reflectors.shape[-2:]

    def times(matrix: Tensor) -> Tensor:
        return grad @ aten.slice(matrix, -2, 0, columns)

    def adjoint_times(matrix: Tensor) -> Tensor:
        return aten.constant_pad_nd(grad.mH @ matrix, [0, 0, 0, rows - columns])

    return reflections_gradient(reflectors, scales, times, adjoint_times)


@gradient(aten.ormqr.default)
def ormqr(
    grads: Gradients, args: Sequence[Any], outputs: Sequence[Tensor], **options: bool
) -> tuple[Tensor | None, ...]:
    """The product times a matrix, from the left or the right, itself or its adjoint."""
    (grad,) = grads
    reflectors, scales, other, *flags = args
    left, adjoint = dict(enumerate(flags)).get(0, True), dict(enumerate(flags)).get(1, False)
    left, adjoint = options.get("left", left), options.get("transpose", adjoint)
    if grad is None:
        return None, None, None
    one, two = (grad, other) if left else (other.mH, grad.mH)
    if adjoint:
        one, two = two, one
    on_reflectors, on_scales = reflections_gradient(
        reflectors, scales, lambda matrix: one @ (two.mH @ matrix), lambda matrix: two @ (one.mH @ matrix)
    )
    return on_reflectors, on_scales, torch.ormqr(reflectors, scales, grad, left, not adjoint)


# ---------------------------------------------------------------------- deviations


def deviation_gradient(
    grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: float, keepdim: bool
) -> Tensor:
    """The gradient of a variance. Of too few elements it is what dividing by nothing gives, or less."""
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
    """How many elements are taken together."""
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
            found = _sum(found, grad.expand(self.shape) / _count(self, axes))
        return (found,)


for _word, _root, _with_mean in (
    ("var", False, False), ("std", True, False), ("var_mean", False, True), ("std_mean", True, True),
):  # fmt: skip
    _register_deviation(_word, root=_root, with_mean=_with_mean)
