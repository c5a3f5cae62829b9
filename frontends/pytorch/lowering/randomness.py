"""Random numbers are drawn by torch, in the order of the program; what is computed from them is computed by loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from backends.cpu.mersenne import bernoulli
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, lowering
from frontends.pytorch.lowering.values import Value

aten: Final = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Kept:
    """Draws which elements are kept; the sizes and strides are given."""

    share: float
    rank: int
    device: torch.device

    def __call__(self, *layout: int) -> torch.Tensor:
        sizes, strides = layout[: self.rank], layout[self.rank :]
        return bernoulli(torch.empty_strided(sizes, strides, dtype=torch.bool, device=self.device), self.share)


@lowering(aten.native_dropout.default)
def native_dropout(at: Site, x: Value, share: float, training: bool | None) -> Lowered:
    """On an accelerator the operator draws in another way than `bernoulli_`."""
    kind = at.kinds[1]
    if kind is None or kind.device.type != "cpu" or training is False or not isinstance(share, float):
        raise Declined
    if not 0 < share < 1:
        raise Declined
    mask = at.called(Kept(1 - share, x.rank, kind.device), kind)
    return [at.operand(x) * at.operand(mask) * (1 / (1 - share)), mask]
