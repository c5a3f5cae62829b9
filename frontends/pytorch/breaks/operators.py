"""Properties of operators for lazy evaluation: whether one can be deferred, and which of its arguments vary.

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

from frontends.pytorch.python.torch_calls import Arguments

aten: Final = torch.ops.aten
CONCRETIZING_TAGS: Final = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output, torch.Tag.inplace_view)
INDEXING: Final = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default)
LAZY_BITS: Final = (aten._conj.default, aten._neg_view.default)
"""Operators that set the conjugate or negative bit; the bit is the real tensor's."""
TOGETHER: Final = ("aten::_foreach_", "aten::_fused_", "aten::_amp_foreach_")
LAID_BY_KERNELS: Final = (
    aten.convolution.default,
    aten.native_batch_norm.default,
    aten.reflection_pad2d.default,
    aten.pixel_shuffle.default,
    aten.roll.default,
)
"""Operators whose meta functions predict other strides than the CPU kernels for non-contiguous arguments."""


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of an operator.

    Attributes:
        concretizes: whether its result's metadata depends on elements, or it resizes its argument.
        indexes: whether that is so for a mask.
        varying: for each positional argument, whether it is a number that may vary: a size or a factor, not an axis.
        varying_names: the names of such keyword arguments.
        is_pointwise: whether the values of its numbers do not affect the result's metadata.
    """

    concretizes: bool
    indexes: bool
    varying: tuple[bool, ...]
    varying_names: frozenset[str]
    is_pointwise: bool


@cache
def traits_of(func: torch._ops.OpOverload) -> Traits:
    """The properties of an operator."""
    # only the schema's text distinguishes a size from an axis: both are ints; a number may replace a tensor
    names = re.findall(r"(?:SymInt|Scalar|float|Tensor)[\[\]\d?]* (\w+)", str(func._schema))
    return Traits(
        func in LAZY_BITS or any(tag in func.tags for tag in CONCRETIZING_TAGS),
        func in INDEXING,
        tuple([argument.name in names for argument in func._schema.arguments]),
        frozenset(names),
        torch.Tag.pointwise in func.tags,
    )


def concretizes(func: torch._ops.OpOverload, args: Arguments) -> bool:
    """Whether the metadata of an operator's result depends on elements, or it resizes its argument."""
    traits = traits_of(func)
    return traits.concretizes or (
        traits.indexes
        and any(isinstance(each, torch.Tensor) and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    )


@cache
def places_written_together(func: torch._ops.OpOverload) -> tuple[tuple[int, str], ...]:
    """The written arguments of a foreach operator: its kernels increment their versions, not autograd."""
    arguments = enumerate(func._schema.arguments)
    if func.namespace != "aten" or not func._schema.name.startswith(TOGETHER):
        return ()
    return tuple([(place, each.name) for place, each in arguments if each.alias_info and each.alias_info.is_write])


def written_together(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[torch.Tensor]:
    """The tensors that a foreach operator writes."""
    arguments = places_written_together(func)
    given = [args[place] if place < len(args) else kwargs[name] for place, name in arguments]
    return [each for each in tree_leaves(given) if isinstance(each, torch.Tensor)] if arguments else []


def cause_of(func: torch._ops.OpOverload) -> str:
    """The display name of an operator."""
    return "item()" if func is aten._local_scalar_dense.default else func._schema.name.partition("::")[2]
