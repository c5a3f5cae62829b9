"""Matrix products: the result is contiguous, whatever the factors are."""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.meta_rules.registry import kind_rules, metadata_of, packed, ruled
from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


@kind_rules(
    aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default, aten.addmm.default, aten.addmv.default,
    aten.baddbmm.default,
)  # fmt: skip
def product(operator: torch._ops.OpOverload, recorder: Trace, *tensors: torch.Tensor, **numbers: object) -> object:
    factors = [metadata_of(recorder, tensor) for tensor in tensors]
    first = factors[0]
    if any(factor.dtype is not first.dtype or factor.device != first.device for factor in factors):
        return NotImplemented
    return packed(recorder, ruled(recorder, operator, *factors, **numbers), first.dtype, first.device)
