"""Losses and their gradients. `reduction` is torch's number: 0 leaves the elements, 1 is the mean, 2 the sum."""

from __future__ import annotations

from typing import Final

import torch

from backends.loops.nodes import GatherIndices
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, lowering
from frontends.pytorch.lowering.values import Value

aten: Final = torch.ops.aten
MEAN: Final = 1


@lowering(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss_forward(
    at: Site, x: Value, target: Value, weight: Value | None, reduction: int, ignored: int
) -> Lowered:
    """Lower the negative log likelihood: the element of each target, which must be in bounds."""
    if x.rank < 2 or type(ignored) is not int or x.dtype not in ("float32", "float64"):
        raise Declined
    counts = target.differs(ignored)
    inside = (target >= 0) & (target < x.sizes[1])
    at.require(inside | ~counts, IndexError, "a target is out of bounds")
    places: GatherIndices = (at.build.axis(0), target.tensor, *[at.build.axis(axis) for axis in range(1, target.rank)])
    sizes = inside.sizes
    share = counts.cast(x.dtype)
    if weight is not None:
        share = counts.select(weight.gather((target.tensor,), sizes, inside), 0)
    chosen = -x.gather(places, sizes, inside)
    chosen = counts.select(chosen if weight is None else chosen * share, 0)
    axes = range(target.rank)
    if reduction == 0:
        return [chosen, at.full(0, sizes=())]
    count = share.sum(axes)
    total = chosen.sum(axes)
    return [total / count if reduction == MEAN else total, count]


@lowering(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(
    at: Site,
    grad: Value,
    x: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignored: int,
    total: Value,
) -> Value:
    """Lower the gradient of the negative log likelihood, nonzero at targets only.

    The forward has checked their bounds.
    """
    if x.rank < 2 or type(ignored) is not int:
        raise Declined
    if reduction == 0:
        share = at.operand(grad.unsqueezed([1]))
    else:
        share = at.operand(grad) / at.operand(total) if reduction == MEAN else at.operand(grad)
    if weight is not None:
        share = share.expanded(x.sizes) * weight.along(1, x.rank).expanded(x.sizes)
    target = target.unsqueezed([1]).expanded(x.sizes)
    return (at.iota(1, x.sizes).equals(target) & target.differs(ignored)).select(-share, 0)
