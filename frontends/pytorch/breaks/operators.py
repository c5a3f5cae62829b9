"""What a program that is run with graph breaks has to know of an operator: whether it can wait, and what varies in it.

>>> import torch
>>> from frontends.pytorch.breaks.operators import cause_of, concretizes, traits_of
>>> concretizes(torch.ops.aten.nonzero.default, ()), concretizes(torch.ops.aten.relu.default, ())
(True, False)
>>> cause_of(torch.ops.aten._local_scalar_dense.default), traits_of(torch.ops.aten.select.int).varying
('item()', (False, False, True))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import torch
from torch.utils._pytree import tree_leaves

aten: Final = torch.ops.aten
CONCRETIZING_TAGS: Final = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output, torch.Tag.inplace_view)
INDEXING: Final = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default)
LAZY_BITS: Final = (aten._conj.default, aten._neg_view.default)
"""What marks a tensor as conjugated or negated without doing it; the mark is the real tensor's."""
TOGETHER: Final = ("aten::_foreach_", "aten::_fused_", "aten::_amp_foreach_")
LAID_BY_KERNELS: Final = (
    aten.convolution.default,
    aten.native_batch_norm.default,
    aten.reflection_pad2d.default,
    aten.pixel_shuffle.default,
    aten.roll.default,
)
"""Whose meta functions give other strides than the kernels of the CPU, where arguments are not packed."""


@dataclass(frozen=True, slots=True)
class Traits:
    """An operator.

    Attributes:
        concretizes: whether what it gives depends on elements, or the sizes of its argument change.
        indexes: whether that is so if it is given a mask.
        varying: for each argument by place, whether it is a number of the call: a size or a factor, not an axis.
        varying_names: the names of those that are.
        is_pointwise: whether the values of its numbers say nothing about what comes out.
    """

    concretizes: bool
    indexes: bool
    varying: tuple[bool, ...]
    varying_names: frozenset[str]
    is_pointwise: bool


_known: dict[object, Traits] = {}


def traits_of(func: torch._ops.OpOverload) -> Traits:
    """What is to know of an operator."""
    found = _known.get(func)
    if found is None:
        # the text alone tells a size from an axis: both are ints to the schema's types; a number may stand for a tensor
        names = re.findall(r"(?:SymInt|Scalar|float|Tensor)[\[\]\d?]* (\w+)", str(func._schema))
        found = _known[func] = Traits(
            func in LAZY_BITS or any(tag in func.tags for tag in CONCRETIZING_TAGS),
            func in INDEXING,
            tuple([argument.name in names for argument in func._schema.arguments]),
            frozenset(names),
            torch.Tag.pointwise in func.tags,
        )
    return found


def concretizes(func: torch._ops.OpOverload, args: Sequence[object]) -> bool:
    """Whether the outcome of an operator depends on elements, or the sizes of its argument change."""
    traits = traits_of(func)
    return traits.concretizes or (
        traits.indexes
        and any(isinstance(each, torch.Tensor) and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    )


@cache
def places_written_together(func: torch._ops.OpOverload) -> tuple[tuple[int, str], ...]:
    """The arguments of an operator on lists of tensors that it writes: its kernels count them, and not autograd."""
    arguments = enumerate(func._schema.arguments)
    if func.namespace != "aten" or not func._schema.name.startswith(TOGETHER):
        return ()
    return tuple([(place, each.name) for place, each in arguments if each.alias_info and each.alias_info.is_write])


def written_together(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[torch.Tensor]:
    """The tensors that an operator on lists of tensors writes."""
    places = places_written_together(func)
    given = [args[place] if place < len(args) else kwargs[name] for place, name in places]
    return [each for each in tree_leaves(given) if isinstance(each, torch.Tensor)] if places else []


def cause_of(func: torch._ops.OpOverload) -> str:
    """An operator as people know it."""
    return "item()" if func is aten._local_scalar_dense.default else func._schema.name.partition("::")[2]
