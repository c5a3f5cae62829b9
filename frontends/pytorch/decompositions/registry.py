"""Registry of decompositions, installed at torch's dispatcher while a trace runs.

    >>> import torch
    >>> from frontends.pytorch.decompositions.registry import COMPOSITES, installed
    >>> with installed():
    ...     all(operator.py_kernels for operator in COMPOSITES)
    True

The Python dispatcher asks an operator's `py_kernels` first, so they are found wherever the operator is called, by the
program or by another operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Final

import torch
from torch._C import DispatchKey

COMPOSITES: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}
PROFILER: Final = "profiler"
"""The namespace of operators that only say to a profiler where a program is, as optimizers do around a step."""
KEYS: Final = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)


def installed() -> AbstractContextManager[None]:
    """The operators taken apart here, while this lasts."""
    return standing_in(COMPOSITES)


@contextmanager
def standing_in(functions: Mapping[torch._ops.OpOverload, Callable[..., object]]) -> Iterator[None]:
    """Functions in the place of operators, while this lasts."""
    before: list[tuple[torch._ops.OpOverload, DispatchKey, Callable[..., object] | None]] = []
    for operator, function in functions.items():
        for key in KEYS:
            theirs = operator.py_kernels.get(key)
            if theirs is not function:
                operator.py_kernels[key] = function
                before.append((operator, key, theirs))
        operator._dispatch_cache.clear()
    try:
        yield
    finally:
        for operator, key, theirs in reversed(before):
            if theirs is None:
                del operator.py_kernels[key]
            else:
                operator.py_kernels[key] = theirs
            operator._dispatch_cache.clear()


def composite(*operators: torch._ops.OpOverload) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a function as what these operators are made of."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        for operator in operators:
            COMPOSITES[operator] = function
        return function

    return register


@cache
def is_composite(func: object) -> bool:
    """Whether an operator is made of others: in inference mode, where autograd takes none apart, it comes whole."""
    return (
        isinstance(func, torch._ops.OpOverload)
        and func.namespace == "aten"
        # some are TorchScript's only
        and torch._C._dispatch_has_kernel(func.name())
        and torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    )
