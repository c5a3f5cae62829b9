"""Output layouts of operator calls: which operators are known to return the predicted strides, or fresh memory."""

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
"""Operators whose results are always contiguous."""
FRESH: Final = frozenset(
    [
        aten.convolution.default,
        aten.convolution_backward.default,
        aten.max_pool2d_with_indices.default,
        aten.max_pool2d_with_indices_backward.default,
        aten.avg_pool2d.default,
        aten.avg_pool2d_backward.default,
        aten._adaptive_avg_pool2d.default,
        aten._adaptive_avg_pool2d_backward.default,
        aten.upsample_nearest2d.default,
        aten.upsample_nearest2d_backward.default,
        aten.upsample_bilinear2d.default,
        aten.upsample_bilinear2d_backward.default,
        aten.upsample_bicubic2d.default,
        aten.upsample_bicubic2d_backward.default,
        aten.sort.default,
        aten.topk.default,
    ]
)
"""Operators whose results alias neither their arguments nor each other; the arguments determine the layout."""
INTO: Final[dict[object, Callable[..., torch.Tensor]]] = {
    aten.mm.default: torch.mm,
    aten.bmm.default: torch.bmm,
    aten.addmm.default: torch.addmm,
    aten.baddbmm.default: torch.baddbmm,
}
"""Operators with fresh results whose `out` variants are as fast."""


def laid_out(rank: int) -> Callable[..., torch.Tensor]:
    """A copy with the sizes and strides that follow the tensor among the arguments."""

    def copied(x: torch.Tensor, *layout: int) -> torch.Tensor:
        return torch.empty_strided(layout[:rank], layout[rank:], dtype=x.dtype, device=x.device).copy_(x)

    return copied
