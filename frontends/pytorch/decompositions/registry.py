"""Registry of decompositions, installed at torch's dispatcher while a trace runs.

    >>> import torch
    >>> from frontends.pytorch.decompositions.registry import COMPOSITES, standing_in
    >>> with standing_in(COMPOSITES, lambda: True):
    ...     all(operator.py_kernels for operator in COMPOSITES)
    True

The Python dispatcher looks in an operator's `py_kernels` first, so decompositions apply wherever the operator is
called, by the program or by another operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Final

import torch
from torch._C import DispatchKey

COMPOSITES: Final[dict[torch._ops.OpOverload, Callable[..., object]]] = {}
KEYS: Final = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)


@contextmanager
def standing_in(
    functions: Mapping[torch._ops.OpOverload, Callable[..., object] | None], is_here: Callable[[], bool]
) -> Iterator[None]:
    """Replace operators by functions for the duration of the block, in threads in which `is_here` is true; in all
    threads by their C++ where the function is None."""
    before: list[tuple[torch._ops.OpOverload, DispatchKey, Callable[..., object] | None]] = []
    for operator, function in functions.items():
        for key in KEYS:
            theirs = operator.py_kernels.get(key)
            before.append((operator, key, theirs))
            _set_kernel(operator, key, function and _here(function, _otherwise(operator, key, theirs), is_here))
        operator._dispatch_cache.clear()
    try:
        yield
    finally:
        for operator, key, theirs in reversed(before):
            _set_kernel(operator, key, theirs)
            operator._dispatch_cache.clear()


def _here(
    function: Callable[..., object], otherwise: Callable[..., object], is_here: Callable[[], bool]
) -> Callable[..., object]:
    def kernel(*args: object, **kwargs: object) -> object:
        return (function if is_here() else otherwise)(*args, **kwargs)

    return kernel


def _otherwise(
    operator: torch._ops.OpOverload, key: DispatchKey, theirs: Callable[..., object] | None
) -> Callable[..., object]:
    """The kernel that torch calls in a thread without a trace."""
    if theirs is not None:
        return theirs
    composite = DispatchKey.CompositeImplicitAutograd
    is_composite = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), composite)
    return partial(operator._op_dk, composite if is_composite else key)


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
    """Return True if an operator is composite: inference mode skips autograd, which decomposes it otherwise."""
    return (
        isinstance(func, torch._ops.OpOverload)
        and func.namespace == "aten"
        # some exist only for TorchScript
        and torch._C._dispatch_has_kernel(func.name())
        and torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    )
