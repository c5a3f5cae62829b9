"""Autocast, while a program is traced or queued.

Autocast keeps each parameter that it has cast until its context is left. A tensor of a trace must not be kept so, as
the next call outside of the trace would be given it; nor may a graph hold what an earlier call left there, which is no
longer the parameter's value once that is learned.

    >>> import torch
    >>> from frontends.pytorch.python.casting import casting_anew
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

_outside: Final[list[bool]] = []
NATIVE: Final = frozenset(("aten", "prim", "prims", "quantized", "rngprims", "inductor", "c10d", "_c10d_functional"))
"""The namespaces of torch's own operators."""


def was_cached() -> bool:
    """Whether what is cast is kept outside of the trace."""
    return _outside[0] if _outside else torch.is_autocast_cache_enabled()


@contextmanager
def casting_anew() -> Iterator[None]:
    """Nothing that was cast is kept, and nothing that was kept is used, while this lasts."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    _outside.append(before)
    try:
        yield
    finally:
        _outside.pop()
        torch.set_autocast_cache_enabled(before)


def kernel_in_autocast(func: object) -> str:
    """The name of an operator of the program's own that is called in autocast: what its kernel runs is cast there, and
    neither behind a mode of torch's dispatcher nor in a graph, whose casts are operators."""
    if not isinstance(func, OpOverload | OpOverloadPacket) or not torch._C._is_any_autocast_enabled():
        return ""
    packet = func.overloadpacket if isinstance(func, OpOverload) else func
    name = packet._qualified_op_name
    return "" if name.partition("::")[0] in NATIVE else name
