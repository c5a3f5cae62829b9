"""Guards on the sizes of tensors that wrap others: a jagged tensor's rows and ragged axes, a DTensor's offset.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.size(0) > 2 else x * 3, dynamic=True)
    >>> rows = torch.nested.nested_tensor([torch.ones(1), torch.ones(3)], layout=torch.jagged)
    >>> more = torch.nested.nested_tensor([torch.ones(1), torch.ones(3), torch.ones(2)], layout=torch.jagged)
    >>> f(rows).values().sum().item(), f(more).values().sum().item()
    (12.0, 12.0)

Torch guards the inner tensors alone, since sizes and strides follow from them. But the number of rows has a symbol of
its own: what a program has asked of it becomes the symbol's range, which no guard tests. Here outer sizes are guarded
too; outer strides are products of sizes, and need no guard.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import sympy
from torch import SymInt
from torch._dynamo.source import AttrSource, TensorProperty, TensorPropertySource
from torch.fx.experimental.symbolic_shapes import StatefulSymbolicContext, SubclassSymbolicContext
from torch.utils._sympy.singleton_int import SingletonInt


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
