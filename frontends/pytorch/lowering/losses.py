"""The gradient of the negative log likelihood; losses are decomposed (`decomposed`).

`reduction` is torch's number: 0 leaves the elements, 1 is the mean, 2 the sum.
"""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.lowering.registry import Declined, Site, lowering
from frontends.pytorch.lowering.values import Value

aten: Final = torch.ops.aten
MEAN: Final = 1


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
    is_target = at.iota(1, x.sizes).equals(target) & target.differs(ignored)
    return is_target.select(-share, 0)
