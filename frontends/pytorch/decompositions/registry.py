"""Registry of decompositions, which replace torch's while a trace runs (`recording/torch_internals.py`).

    >>> import torch
    >>> from frontends.pytorch.decompositions.registry import COMPOSITES, is_composite
    >>> torch.ops.aten.kron.default in COMPOSITES, is_composite(torch.ops.aten.kron.default)
    (True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import torch

COMPOSITES: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}


def composite(*operators: torch._ops.OpOverload) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function as the decomposition of these operators."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        COMPOSITES.update(dict.fromkeys(operators, function))
        return function

    return register


@cache
def is_composite(func: object) -> bool:
    """Return True if an operator is composite: inference mode skips autograd, which decomposes it otherwise."""
    return (
        isinstance(func, torch._ops.OpOverload)
        and func.namespace == "aten"
        # some exist only for TorchScript
        and torch._C._dispatch_has_kernel(func.name())
        and torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    )
