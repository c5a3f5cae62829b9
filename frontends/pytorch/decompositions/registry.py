"""Registry of decompositions, installed at torch's dispatcher while a trace runs.

    >>> import torch
    >>> from frontends.pytorch.decompositions.registry import COMPOSITES, standing_in
    >>> with standing_in(COMPOSITES):
    ...     all(operator.py_kernels for operator in COMPOSITES)
    True

The Python dispatcher looks in an operator's `py_kernels` first, so decompositions apply wherever the operator is
called, by the program or by another operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Final

import torch
from torch._C import DispatchKey

COMPOSITES: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}
PROFILER: Final = "profiler"
"""The namespace of operators that only mark ranges for a profiler, as optimizers do around a step."""
KEYS: Final = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)


@contextmanager
def standing_in(functions: Mapping[torch._ops.OpOverload, Callable[..., object] | None]) -> Iterator[None]:
    """Replace operators by functions for the duration of the block; by their C++ where that is None."""
    before: list[tuple[torch._ops.OpOverload, DispatchKey, Callable[..., object] | None]] = []
    for operator, function in functions.items():
        for key in KEYS:
            theirs = operator.py_kernels.get(key)
            if theirs is not function:
                before.append((operator, key, theirs))
                _set_kernel(operator, key, function)
        operator._dispatch_cache.clear()
    try:
        yield
    finally:
        for operator, key, theirs in reversed(before):
            _set_kernel(operator, key, theirs)
            operator._dispatch_cache.clear()


def _set_kernel(operator: torch._ops.OpOverload, key: DispatchKey, kernel: Callable[..., object] | None) -> None:
    if kernel is None:
        operator.py_kernels.pop(key, None)
    else:
        operator.py_kernels[key] = kernel


def composite(*operators: torch._ops.OpOverload) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function as the decomposition of these operators."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        for operator in operators:
            COMPOSITES[operator] = function
        return function

    return register


@cache
def is_composite(func: object) -> bool:
    """Whether an operator is composite: inference mode skips autograd, which decomposes it otherwise."""
    return (
        isinstance(func, torch._ops.OpOverload)
        and func.namespace == "aten"
        # some exist only for TorchScript
        and torch._C._dispatch_has_kernel(func.name())
        and torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    )
