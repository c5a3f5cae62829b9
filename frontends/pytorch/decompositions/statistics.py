"""Covariance.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(torch.cov, (torch.ones(2, 3),))
    >>> [str(guard) for guard in variant.guards], tuple(variant.graph(torch.ones(4, 5))[0].shape)
    (['arg0.shape[0] != 1'], (4, 4))
"""

from __future__ import annotations

from typing import Final, TypeAlias

import torch

from frontends.pytorch.decompositions.registry import composite

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


@composite(aten.cov.default)
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance of the rows; invalid values of weights are found when the graph runs."""
    torch._check(self.dim() <= 2, lambda: f"cov(): expected at most 2 axes, not {self.dim()}")
    torch._check(self.dtype is not torch.bool, lambda: "cov(): bool is not supported")
    rows = self if self.dim() == 2 else self.reshape(1, -1)
    count = rows.shape[1]
    weights: Tensor | None = None
    for name, each in (("fweights", fweights), ("aweights", aweights)):
        if each is None:
            continue
        torch._check(each.dim() <= 1, lambda name=name: f"cov(): {name}: expected at most 1 axis")
        torch._check(each.numel() == count, lambda name=name: f"cov(): {name}: not one for each observation")
        aten._assert_async.msg((each >= 0).all(), f"cov(): {name} cannot be negative")
        weights = each if weights is None else weights * each
    if weights is None:
        factor = torch.sym_max(count - correction, 0)
        mean = rows.sum(1) / count
        weighted = rows - mean.unsqueeze(1)
        centred = weighted
    else:
        total = weights.sum()
        aten._assert_async.msg(total != 0, "cov(): weights sum to zero, can't be normalized")
        mean = (rows * weights).sum(1) / total
        less: Tensor | int = correction
        if aweights is not None and correction != 0:
            less = correction * (weights * aweights).sum() / total
        factor = (total - less).clamp(min=0)
        centred = rows - mean.unsqueeze(1)
        weighted = centred * weights
    return torch.true_divide(torch.mm(centred, weighted.t().conj()), factor).squeeze()
