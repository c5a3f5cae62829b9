"""Numbers of tensors by torch's sources: sizes, strides and offsets, and the least value of each.

    >>> from torch._dynamo.source import LocalSource, TensorProperty, TensorPropertySource
    >>> from frontends.pytorch.shape_env.tensor_sources import is_of_layout
    >>> stride = TensorPropertySource(LocalSource("x"), TensorProperty.STRIDE, 0)
    >>> is_of_layout(stride), is_of_layout(TensorPropertySource(LocalSource("x"), TensorProperty.SIZE, 0))
    (True, False)
"""

from __future__ import annotations

from typing import Any, Final

from torch._dynamo.source import TensorProperty, TensorPropertySource
from torch.fx.experimental.symbolic_shapes import DimDynamic, StrictMinMaxConstraint

LENGTHS: Final = ("_min_seqlen_tensor", "_max_seqlen_tensor")
"""Tensors without elements, whose first size is the length of the shortest or longest row of a jagged tensor."""
NEVER_NEGATIVE: Final = (TensorProperty.SIZE, TensorProperty.STORAGE_OFFSET)


def is_of_layout(source: Any) -> bool:
    """Return True if a source is a stride or an offset of a tensor."""
    return isinstance(source, TensorPropertySource) and source.prop is not TensorProperty.SIZE


def is_offset(source: Any) -> bool:
    """Return True if a source is the offset of a tensor, from which no layout follows."""
    return isinstance(source, TensorPropertySource) and source.prop is TensorProperty.STORAGE_OFFSET


def least_value(val: Any, source: Any, named: dict[str, Any]) -> int | None:
    """The least value of a number of a tensor that becomes a symbol: of a size 1, as a size of 0 has graphs of its own
    unless its mark includes 0. None for other numbers, and for sizes that become no backed symbol."""
    if not isinstance(source, TensorPropertySource) or not isinstance(val, int):
        return None
    if is_of_layout(source) or getattr(source.base, "member", None) in LENGTHS:
        return 0
    if named.get("dynamic_dim", DimDynamic.DUCK) not in (DimDynamic.DUCK, DimDynamic.DYNAMIC):
        return None
    constraint = named.get("constraint_dim")
    marked = isinstance(constraint, StrictMinMaxConstraint) and constraint.vr.lower == 0
    return 0 if marked else 1


def is_size(source: Any) -> bool:
    """Return True if a source is a number of a tensor that is never negative."""
    return isinstance(source, TensorPropertySource) and source.prop in NEVER_NEGATIVE
