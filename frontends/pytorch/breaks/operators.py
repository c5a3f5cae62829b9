"""What a program that is run with breaks has to know of an operator: whether it can wait, and what varies in it.

    >>> import torch
    >>> from frontends.pytorch.breaks.operators import cause_of, forces, number_arguments
    >>> forces(torch.ops.aten.nonzero.default, ()), forces(torch.ops.aten.relu.default, ())
    (True, False)
    >>> cause_of(torch.ops.aten._local_scalar_dense.default), sorted(number_arguments(torch.ops.aten.select.int))
    ('item()', ['index'])
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import torch

aten: Final = torch.ops.aten
FORCING_TAGS: Final = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output, torch.Tag.inplace_view)
INDEXING: Final = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default)
LAZY_BITS: Final = (aten._conj.default, aten._neg_view.default)
"""What marks a tensor as conjugated or negated without doing it; the mark is the real tensor's."""


def forces(func: torch._ops.OpOverload, args: Sequence[object]) -> bool:
    """Whether the outcome of an operator depends on elements, or the sizes of its argument change."""
    if any(tag in func.tags for tag in FORCING_TAGS) or func in LAZY_BITS:
        return True
    if func in INDEXING:
        return any(isinstance(each, torch.Tensor) and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    return False


def cause_of(func: torch._ops.OpOverload) -> str:
    """An operator as people know it."""
    return "item()" if func is aten._local_scalar_dense.default else func._schema.name.partition("::")[2]


_numbers: dict[object, frozenset[str]] = {}


def number_arguments(func: torch._ops.OpOverload) -> frozenset[str]:
    """The arguments of an operator that are numbers of the call: sizes and factors, not an axis."""
    found = _numbers.get(func)
    if found is None:
        # the text alone tells a size from an axis: both are ints to the schema's types; a number may stand for a tensor
        names = re.findall(r"(?:SymInt|Scalar|float|Tensor)[\[\]\d?]* (\w+)", str(func._schema))
        found = _numbers[func] = frozenset(names)
    return found
