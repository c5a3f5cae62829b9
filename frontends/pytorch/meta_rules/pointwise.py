"""Elementwise operators on contiguous operands: broadcasting and type promotion, and a contiguous result.

    >>> import torch
    >>> is_elementwise(torch.ops.aten.mul.Tensor), is_elementwise(torch.ops.aten.mm.default)
    (True, False)

Torch's tag says which operators are elementwise. The operator itself determines the dtype of the result (`dtypes`).
Operands of other layouts are left to torch's meta functions: those give the same results, but take ten times as long.
"""

from __future__ import annotations

import torch

from frontends.pytorch.meta_rules.dtypes import dtypes_of
from frontends.pytorch.meta_rules.layouts import common_sizes, is_by_row
from frontends.pytorch.meta_rules.registry import metadata_of, packed
from frontends.pytorch.symbolic.tensor import Trace


def is_elementwise(func: torch._ops.OpOverload) -> bool:
    """Return True if an operator is elementwise, and gives a new tensor or the one that it writes to."""
    if func.namespace != "aten" or torch.Tag.pointwise not in func.tags:
        return False
    results = func._schema.returns
    given = results[0].alias_info if [str(each.type) for each in results] == ["Tensor"] else results
    return given is None or func._schema.name.endswith("_") and func._schema.is_mutable


def elementwise(func: torch._ops.OpOverload, recorder: Trace, *args: object, **kwargs: object) -> object:
    """The metadata of an elementwise operator's result; the index of the operand that it writes to.

    Raises:
        RuntimeError: the operands do not broadcast to the one that is written to: torch's meta functions do not check.
    """
    operands = [metadata_of(recorder, value) for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    ranked = [operand for operand in operands if operand.sizes] or operands
    is_written = func._schema.is_mutable
    if any(each.device != ranked[0].device for each in ranked) or not (is_written or all(map(is_by_row, ranked))):
        return NotImplemented
    dtypes = dtypes_of(func, args, kwargs)
    if not ranked or dtypes is None:
        return NotImplemented
    sizes = common_sizes(recorder.env, ranked)
    if not is_written:
        return packed(recorder, sizes, dtypes[0], ranked[0].device)
    target, env = operands[0].shape, recorder.env
    if len(sizes) != len(target) or not all(a is b or env.guard_or_true(a == b) for a, b in zip(sizes, target)):
        raise RuntimeError(f"{func}: operands that broadcast to {tuple(sizes)} do not fit {tuple(target)}")
    return 0
