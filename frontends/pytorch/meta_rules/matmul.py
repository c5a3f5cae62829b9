"""Matrix products: the result is contiguous, whatever the factors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed, ruled

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten


def _register(operator: object) -> None:
    @kind_rule(operator)
    def product(recorder: Trace, *tensors: torch.Tensor, **numbers: object) -> object:
        factors = [metadata_of(recorder, tensor) for tensor in tensors]
        first = factors[0]
        if any(factor.dtype is not first.dtype or factor.device != first.device for factor in factors):
            return NotImplemented
        return packed(recorder, ruled(recorder, operator, *factors, **numbers), first.dtype, first.device)


for _operator in (
    aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default, aten.addmm.default, aten.addmv.default,
    aten.baddbmm.default,
):  # fmt: skip
    _register(_operator)
