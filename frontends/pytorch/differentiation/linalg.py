"""Gradients of LU factorizations, of products of Householder reflections, and of least squares.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(torch.linalg.lu(x)[2].sum(), x)
    >>> variant = trace(gradient, (torch.randn(3, 5, requires_grad=True),))
    >>> [str(guard) for guard in variant.guards], variant.graph(torch.eye(2))[0].tolist()
    ([], [[1.0, 1.0], [0.0, 1.0]])
    >>> def gradient(a, b):
    ...     return torch.autograd.grad(torch.linalg.lstsq(a, b).solution.sum(), (a, b))
    >>> variant = trace(gradient, (torch.randn(3, 2, requires_grad=True), torch.randn(3, 1, requires_grad=True)))
    >>> [tuple(each.shape) for each in variant.graph(torch.randn(2, 4), torch.randn(2, 3))]
    [(2, 4), (2, 3)]

One formula holds for LU factorizations of wide, tall and square matrices; torch's for least squares branches on the
number of residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, added, gradient
from frontends.pytorch.symbolic.node import same

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


# ---------------------------------------------------------------------- LU factorizations


def lu_gradient(
    lower_gradient: Tensor | None, upper_gradient: Tensor | None, permutation: Tensor, lower: Tensor, upper: Tensor
) -> Tensor | None:
    """The gradient of a matrix, from those of its factors.

    A matrix has columns to the right of the square that is factored, or rows below it, or neither: the formula has both
        blocks, which may be empty.
    """
    rows, square, columns = lower.shape[-2], lower.shape[-1], upper.shape[-1]
    wide, tall = not same(columns, square), not same(rows, square)
    first, under = _cut(lower, -2, square, tall)
    second, beside = _cut(upper, -1, square, wide)
    below = above = left = right = None
    if lower_gradient is not None:
        on_square, left = _cut(lower_gradient, -2, square, tall)
        below = first.mH @ on_square
        above = None if left is None or under is None else -(under.mH @ left)
    if upper_gradient is not None:
        on_square, right = _cut(upper_gradient, -1, square, wide)
        above = added(above, on_square @ second.mH)
        below = below if right is None or beside is None else added(below, -(right @ beside.mH))
    core = added(None if below is None else below.tril(-1), None if above is None else above.triu())
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
    """The first elements of an axis, and the rest if it may be nonempty."""
    return (aten.slice(tensor, axis, 0, size), aten.slice(tensor, axis, size)) if more else (tensor, None)


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
    return (added(lower, upper),)


# ---------------------------------------------------------------------- Householder reflections


def reflections_gradient(
    reflectors: Tensor, scales: Tensor, times: Callable[[Tensor], Tensor], adjoint_times: Callable[[Tensor], Tensor]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the reflectors and of their scales, from that of their product.

    The product is Q = 1 - V T V^H, with V unit lower triangular, S what is above the diagonal of V^H V, D the scales,
    and T = M^-1 D with M = 1 + D S (the compact WY form). `times` multiplies the gradient of Q with a matrix,
    `adjoint_times` its adjoint.
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


# ---------------------------------------------------------------------- least squares


def of_inverse(grad: Tensor, inverse: Tensor, matrix: Tensor) -> Tensor:
    """The gradient of a matrix from that of its pseudo-inverse, for locally constant rank."""
    product = grad.mH @ inverse
    turned = product @ inverse.mH
    within = turned - (inverse @ product).mH - (matrix @ inverse) @ turned
    return within + (inverse.mH @ inverse) @ (grad.mH - product @ matrix)


@gradient(aten.linalg_lstsq.default, fixed=(2, 3))
def least_squares(
    grads: Gradients, args: Sequence[Any], outputs: Sequence[Tensor], **options: object
) -> tuple[Tensor | None, Tensor | None]:
    """By the pseudo-inverse; at the minimum the residuals' derivative with respect to the solution is zero."""
    on_solution, on_residuals, *_ = grads
    matrix, right, solution = args[0], args[1], outputs[0]
    are_vectors = matrix.dim() == right.dim() + 1
    if are_vectors:
        right, solution = right.unsqueeze(-1), solution.unsqueeze(-1)
        on_solution = None if on_solution is None else on_solution.unsqueeze(-1)
    on_matrix = on_right = None
    if on_solution is not None:
        inverse = torch.linalg.pinv(matrix)
        on_matrix = of_inverse(on_solution @ right.mH, inverse, matrix)
        on_right = inverse.mH @ on_solution
    if on_residuals is not None and not any(type(size) is int and size == 0 for size in on_residuals.shape):
        beside = 2 * (matrix @ solution - right) * on_residuals.unsqueeze(-2)
        on_matrix, on_right = added(on_matrix, beside @ solution.mH), added(on_right, -beside)
    return on_matrix, on_right.squeeze(-1) if are_vectors and on_right is not None else on_right
