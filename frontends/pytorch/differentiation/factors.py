"""Gradients of LU factorizations: one formula for wide, tall and square matrices.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(x):
    ...     return torch.autograd.grad(torch.linalg.lu(x)[2].sum(), x)
    >>> variant = trace(gradient, (torch.randn(3, 5, requires_grad=True),))
    >>> [str(guard) for guard in variant.guards], variant.graph(torch.eye(2))[0].tolist()
    ([], [[1.0, 1.0], [0.0, 1.0]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, added, gradient
from frontends.pytorch.recording.references import same

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


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
