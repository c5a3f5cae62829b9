"""Layouts of what calls give: which operators are sure to give the strides that were foreseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch

aten: Final = torch.ops.aten

SURE: Final = frozenset(
    [
        aten.mm.default,
        aten.bmm.default,
        aten.addmm.default,
        aten.baddbmm.default,
        aten.argmax.default,
        aten.argmin.default,
        aten.cumsum.default,
        aten.index_select.default,
        aten.embedding.default,
        aten.embedding_dense_backward.default,
        aten.nll_loss_forward.default,
        aten.gather.default,
    ]
)
"""Operators whose results are packed whatever they are given."""
INTO: Final[dict[object, Callable[..., torch.Tensor]]] = {
    aten.mm.default: torch.mm,
    aten.bmm.default: torch.bmm,
    aten.addmm.default: torch.addmm,
    aten.baddbmm.default: torch.baddbmm,
}
"""Operators among them that are as fast where they are given the memory of their result."""


def laid_out(rank: int) -> Callable[..., torch.Tensor]:
    """A copy with the sizes and strides that follow the tensor."""

    def copied(x: torch.Tensor, *layout: int) -> torch.Tensor:
        return torch.empty_strided(layout[:rank], layout[rank:], dtype=x.dtype, device=x.device).copy_(x)

    return copied
