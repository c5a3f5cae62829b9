"""Type promotion by torch's rules.

>>> common_dtype([("int64", 2), ("float32", 0)])
'float32'
>>> common_dtype([("int64", 2), 2.5]), common_dtype([("uint8", 1), 300])
('float32', 'uint8')
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch

from frontends.pytorch.lowering.values import Value
from frontends.pytorch.symbolic.metadata import name_of
from solver.terms.expr import Expr

Operand = tuple[str, int] | float | bool


def dtype_of(*operands: object) -> str:
    """The dtype to which values and numbers are promoted."""
    return common_dtype([_described(each) for each in operands])


def _described(operand: object) -> Operand:
    match operand:
        case Value():
            return operand.dtype, min(operand.rank, 1)
        case Expr():
            return 1
        case bool():
            return True
        case int():
            return 1
        case float():
            return 1.5
    raise TypeError(f"{operand!r}: no operand")


def common_dtype(operands: Sequence[Operand]) -> str:
    """The dtype to which tensors, given as (dtype, rank), and numbers are promoted."""
    return _common(tuple([(type(each), each) for each in operands]), torch.get_default_dtype())


@cache
def _common(operands: tuple[tuple[type, Operand], ...], default: torch.dtype) -> str:
    given = [
        torch.empty((1,) * each[1], dtype=getattr(torch, each[0]), device="meta")
        if isinstance(each, tuple)
        else each
        for _, each in operands
    ]
    found: object = given[0]
    if len(given) == 1:
        return name_of(torch.result_type(found, found))
    if len(given) == 2:
        return name_of(torch.result_type(*given))
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    return name_of(elementwise_dtypes(*given, type_promotion_kind=kind)[1])
