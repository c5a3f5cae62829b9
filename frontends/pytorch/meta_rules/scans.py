"""Scans, and gathers along an axis: contiguous results."""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed, ruled
from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


@kind_rules(aten.cumsum.default, aten.cumprod.default)
def scanned(
    operator: object, recorder: Trace, self: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None
) -> object:
    """The sizes of the input, contiguous."""
    x = metadata_of(recorder, self)
    dtypes = dtypes_of(operator, (self, dim), {"dtype": dtype})
    return NotImplemented if dtypes is None else packed(recorder, x.shape, dtypes[0], x.device)


@kind_rule(aten.gather.default)
def gather(recorder: Trace, self: torch.Tensor, dim: int, index: torch.Tensor, *, sparse_grad: bool = False) -> object:
    """The sizes of the index, contiguous."""
    x, places = metadata_of(recorder, self), metadata_of(recorder, index)
    if sparse_grad or places.dtype is not torch.int64:
        return NotImplemented
    return packed(recorder, ruled(recorder, aten.gather.default, x, dim, places), x.dtype, x.device)


@kind_rules(aten.index_select.default, aten.repeat.default)
def picked(operator: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object) -> object:
    """Elements of an axis, or copies along each; contiguous."""
    x = metadata_of(recorder, self)
    return packed(recorder, ruled(recorder, operator, x, *args), x.dtype, x.device)
