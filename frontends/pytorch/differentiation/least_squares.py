"""Gradients of least squares, where torch's formula branches on the number of residuals.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def gradient(a, b):
    ...     return torch.autograd.grad(torch.linalg.lstsq(a, b).solution.sum(), (a, b))
    >>> variant = trace(gradient, (torch.randn(3, 2, requires_grad=True), torch.randn(3, 1, requires_grad=True)))
    >>> [tuple(each.shape) for each in variant.graph(torch.randn(2, 4), torch.randn(2, 3))]
    [(2, 4), (2, 3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.differentiation.registry import Gradients, added, gradient

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


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
