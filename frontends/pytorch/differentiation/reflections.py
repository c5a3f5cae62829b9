"""Gradients of products of any number of Householder reflections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, gradient

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


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
