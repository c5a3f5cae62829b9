"""Scans, and gathers along an axis: contiguous results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed, ruled

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


def _register(operator: object) -> None:
    @kind_rule(operator)
    def scanned(recorder: Trace, self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> object:
        """The sizes of the input, contiguous."""
        x = metadata_of(recorder, self)
        dtypes = dtypes_of(operator, (self, dim), {"dtype": dtype})
        return NotImplemented if dtypes is None else packed(recorder, x.shape, dtypes[0], x.device)


for _operator in (aten.cumsum.default, aten.cumprod.default):
    _register(_operator)


@kind_rule(aten.gather.default)
def gather(recorder: Trace, self: torch.Tensor, dim: int, index: torch.Tensor, *, sparse_grad: bool = False) -> object:
    """The sizes of the index, contiguous."""
    x, places = metadata_of(recorder, self), metadata_of(recorder, index)
    if sparse_grad or places.dtype is not torch.int64:
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.gather.default, x, dim, places), x.dtype, x.device)


@kind_rule(aten.index_select.default)
def index_select(recorder: Trace, self: torch.Tensor, dim: int, index: torch.Tensor) -> object:
    """The axis has one element for each index; contiguous."""
    x, places = metadata_of(recorder, self), metadata_of(recorder, index)
    return packed(recorder, ruled(recorder, aten.index_select.default, x, dim, places), x.dtype, x.device)
