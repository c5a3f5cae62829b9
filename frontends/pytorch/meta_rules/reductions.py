"""Reductions: the result is contiguous."""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed, ruled
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules.axes import axes_of

aten: Final = torch.ops.aten

ALONG_AXES: Final = (
    aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default, aten.any.dim, aten.all.dim,
    aten.any.dims, aten.all.dims, aten.var.correction, aten.std.correction, aten.logsumexp.default,
)  # fmt: skip
WHOLE: Final = (
    aten.sum.default, aten.mean.default, aten.any.default, aten.all.default, aten.max.default, aten.min.default,
    aten.prod.default,
)  # fmt: skip
WITH_PLACES: Final = (aten.max.dim, aten.min.dim)
PLACES: Final = (aten.argmax.default, aten.argmin.default)


@kind_rules(*WHOLE, *WITH_PLACES, *PLACES)
def reduced(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object, **kwargs: object
) -> Metadata | tuple[Metadata, ...] | object:
    """Contiguous results with the sizes of the shape rule."""
    dtypes = dtypes_of(func, (self, *args), kwargs)
    if dtypes is None:
        return NotImplemented
    base = metadata_of(recorder, self)
    found = ruled(recorder, func, base, *args, **{name: value for name, value in kwargs.items() if name != "dtype"})
    if len(dtypes) == 1:
        return packed(recorder, found, dtypes[0], base.device)
    return tuple([packed(recorder, one, dtype, base.device) for one, dtype in zip(found, dtypes)])


@kind_rules(*ALONG_AXES)
def reduced_along(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, dim: object = None, *args: object,
    **kwargs: object,
) -> object:  # fmt: skip
    """The same along some axes, or along all of them where there are none."""
    if isinstance(dim, list | tuple) and not dim:
        dim = axes_of(None, self.dim())
    return reduced(func, recorder, self, dim, *args, **kwargs)


@kind_rule(aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar)
def isin(
    recorder: Trace, elements: torch.Tensor, tests: object, *, assume_unique: bool = False, invert: bool = False
) -> object:
    """Membership of each element: contiguous whatever the input's layout."""
    base = metadata_of(recorder, elements)
    return packed(recorder, base.shape, torch.bool, base.device)
