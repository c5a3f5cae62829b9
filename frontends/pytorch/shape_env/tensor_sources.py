"""Numbers of tensors by torch's sources: sizes, strides and offsets, the least value of each, and what operators ask.

    >>> from torch._dynamo.source import LocalSource, TensorProperty, TensorPropertySource
    >>> from frontends.pytorch.shape_env.tensor_sources import is_of_layout
    >>> stride = TensorPropertySource(LocalSource("x"), TensorProperty.STRIDE, 0)
    >>> is_of_layout(stride), is_of_layout(TensorPropertySource(LocalSource("x"), TensorProperty.SIZE, 0))
    (True, False)

Torch guards only the inner tensors of a wrapper, such as a jagged tensor, since its sizes and strides follow from them.
But the number of rows has a symbol of its own: what a program has asked of it becomes the symbol's range, which no
guard tests. Here outer sizes are guarded too; outer strides are products of sizes, and need no guard.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import sympy
from torch import SymInt
from torch._dynamo.source import AttrSource, TensorProperty, TensorPropertySource
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    StatefulSymbolicContext,
    StrictMinMaxConstraint,
    SubclassSymbolicContext,
)
from torch.utils._sympy.functions import Mod, PythonMod
from torch.utils._sympy.singleton_int import SingletonInt

ORDERS: Final = (sympy.Ge, sympy.Le, sympy.Gt, sympy.Lt)
ENDS: Final = (-1, 0, 1, 2)
"""Sizes with which operators compare to save work; -1 stands for one that is inferred."""
LENGTHS: Final = ("_min_seqlen_tensor", "_max_seqlen_tensor")
"""Tensors without elements, whose first size is the length of the shortest or longest row of a jagged tensor."""
NEVER_NEGATIVE: Final = (TensorProperty.SIZE, TensorProperty.STORAGE_OFFSET)


def is_of_layout(source: Any) -> bool:
    """Return True if a source is a stride or an offset of a tensor."""
    return isinstance(source, TensorPropertySource) and source.prop is not TensorProperty.SIZE


def is_offset(source: Any) -> bool:
    """Return True if a source is the offset of a tensor, from which no layout follows."""
    return isinstance(source, TensorPropertySource) and source.prop is TensorProperty.STORAGE_OFFSET


def takes_fallback(expr: sympy.Basic, sources: Sequence[Any], hint: object, fallback: bool) -> bool:
    """Return True if an open question of an operator is answered with its fallback, without a guard: it has no hint, or
    the fallback is the general side, or it only saves an expansion, or is about offsets."""
    saves_an_expansion = not fallback and isinstance(expr, sympy.Ne)
    if hint is None or saves_an_expansion or (sources and all(map(is_offset, sources))):
        return True
    if bool(hint) is not fallback or any(map(is_of_layout, sources)):
        return False
    # the layout of a result may follow from an order of sizes: neither side is the general one
    is_order = isinstance(expr, ORDERS) and not any(side in ENDS for side in expr.args)
    return fallback or not (is_order or expr.has(Mod, PythonMod))


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


# ---------------------------------------------------------------------- wrappers


def with_outer_sizes(
    sources: Sequence[Any], contexts: Sequence[Any] | None
) -> tuple[Sequence[Any] | None, tuple[str, ...]]:
    """Torch's contexts of the inputs of a program, with outer sizes to be guarded, and the beginnings of guards that
    follow: those on outer strides and offsets."""
    made, derived = list(contexts or ()), list[str]()
    for place, context in enumerate(made):
        if not getattr(context, "track_outer_size_stride", True):
            made[place] = dataclasses.replace(context, track_outer_size_stride=True)
            name = getattr(sources[place], "name", sources[place])
            derived += [f"{name}.stride()[", f"{name}.storage_offset() "]
    return (made if derived else contexts), tuple(derived)


def outer_offset(shapes: Any, source: Any, context: Any, value: Any, made: Any) -> Any:
    """The offset of a tensor with a context, which torch has made a number of. That of a wrapper stays its `value`,
    since torch would give it a storage for another one; that of a DTensor and that of its shard are one symbol."""
    if not isinstance(context, SubclassSymbolicContext) or not context.track_outer_size_stride:
        return made
    local = context.inner_contexts.get("_local_tensor")
    if not isinstance(local, StatefulSymbolicContext):
        return value
    own = TensorPropertySource(AttrSource(source, "_local_tensor"), TensorProperty.STORAGE_OFFSET)
    symbols = local.shape_env_to_source_to_symbol_cache.setdefault(id(shapes), {})
    symbols[own.name] = made.node.expr if isinstance(made, SymInt) else sympy.Integer(made)
    return made


def made_ragged(shapes: Any) -> set[sympy.Symbol]:
    """The symbols of ragged axes that the program makes: no guard can read them, and which are the same follows from
    the program."""
    return {
        symbol
        for symbol, sources in shapes.var_to_sources.items()
        if isinstance(shapes.backed_var_to_val.get(symbol), SingletonInt)
        and any(source.is_ephemeral() for source in sources)
    }
