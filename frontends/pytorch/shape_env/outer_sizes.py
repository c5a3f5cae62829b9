"""Guards on the sizes of jagged tensors: the number of rows, and ragged axes that a program makes.

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
from torch.utils._sympy.singleton_int import SingletonInt


class OuterSizes:
    """The jagged tensors among the inputs of a program.

    Attributes:
        contexts: torch's contexts of the inputs, with outer sizes to be guarded.
    """

    def __init__(self, sources: Sequence[Any], contexts: Sequence[Any] | None) -> None:
        self.contexts = contexts
        self._derived: tuple[str, ...] = ()
        if contexts is None or all(getattr(each, "track_outer_size_stride", True) for each in contexts):
            return
        made = list(contexts)
        for place, context in enumerate(contexts):
            if not getattr(context, "track_outer_size_stride", True):
                made[place] = dataclasses.replace(context, track_outer_size_stride=True)
                name = getattr(sources[place], "name", sources[place])
                self._derived += (f"{name}.stride()[", f"{name}.storage_offset() ")
        self.contexts = made

    def without_derived(self, found: Sequence[Any]) -> Sequence[Any]:
        """The guards in each language, without those on outer strides and offsets."""
        if self._derived:
            for guards in found:
                guards.exprs[:] = [text for text in guards.exprs if not text.startswith(self._derived)]
        return found


def made_ragged(shapes: Any) -> set[sympy.Symbol]:
    """The symbols of ragged axes that the program makes: no guard can read them, and which are the same follows from
    the program."""
    return {
        symbol
        for symbol, sources in shapes.var_to_sources.items()
        if isinstance(shapes.backed_var_to_val.get(symbol), SingletonInt)
        and any(source.is_ephemeral() for source in sources)
    }
