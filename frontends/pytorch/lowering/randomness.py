"""Random numbers: torch draws them, in program order; computations with them are lowered to loops."""

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
    """Draw a dropout mask with given sizes and strides."""

    share: float
    rank: int
    device: torch.device

    def __call__(self, *layout: int) -> torch.Tensor:
        sizes, strides = layout[: self.rank], layout[self.rank :]
        return bernoulli(torch.empty_strided(sizes, strides, dtype=torch.bool, device=self.device), self.share)


@lowering(aten.native_dropout.default)
def native_dropout(at: Site, x: Value, share: float, training: bool | None) -> Lowered:
    """On accelerators the operator uses another generator sequence than `bernoulli_`."""
    kind = at.kinds[1]
    if kind is None or kind.device.type != "cpu" or training is False or not isinstance(share, float):
        raise Declined
    if not 0 < share < 1:
        raise Declined
    mask = at.called(Kept(1 - share, x.rank, kind.device), kind)
    return [at.operand(x) * at.operand(mask) * (1 / (1 - share)), mask]
