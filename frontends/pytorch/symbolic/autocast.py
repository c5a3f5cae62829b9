"""Autocast while a function is traced.

Autocast caches each cast parameter until its context is left. A traced tensor must not enter this cache, since later
eager calls would receive it; nor may a graph use a cached cast, which is stale once the parameter is updated.

    >>> import torch
    >>> from frontends.pytorch.symbolic.autocast import casting_anew
    >>> with torch.autocast("cpu"), casting_anew():
    ...     torch.is_autocast_cache_enabled()
    False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch
from torch._ops import OpOverload, OpOverloadPacket

NATIVE: Final = frozenset(("aten", "prim", "prims", "quantized", "rngprims", "inductor", "c10d", "_c10d_functional"))
"""The namespaces of torch's operators."""


@contextmanager
def casting_anew() -> Iterator[None]:
    """Disable the cast cache for the duration of the block."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def kernel_in_autocast(func: object) -> str:
    """The name of a custom operator that is called under autocast: eager casts inside of its kernel, which neither a
    dispatch mode nor a graph with explicit casts does."""
    if not isinstance(func, OpOverload | OpOverloadPacket) or not torch._C._is_any_autocast_enabled():
        return ""
    packet = func.overloadpacket if isinstance(func, OpOverload) else func
    name = packet._qualified_op_name
    return "" if name.partition("::")[0] in NATIVE else name
