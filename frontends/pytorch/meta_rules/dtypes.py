"""Result dtypes: the operator itself runs on tiny tensors, once for each combination of dtypes and scalars.

    >>> import torch
    >>> x, n = torch.ones(2, 3, dtype=torch.float16), torch.arange(4)
    >>> dtypes_of(torch.ops.aten.add.Tensor, (x, torch.ones(())), {})
    (torch.float16,)
    >>> dtypes_of(torch.ops.aten.max.dim, (x, 1), {})
    (torch.float16, torch.int64)
    >>> dtypes_of(torch.ops.aten.mean.default, (n,), {}) is None # it is an error, which torch reports
    True

The tensors are on the meta device, with one element and the same rank, so type promotion is the same. `on_cpu`, they
are on the CPU, and kernels run, which do not take all dtypes that meta functions take:

    >>> dtypes_of(torch.ops.aten.mish.default, (n,), {})
    (torch.int64,)
    >>> dtypes_of(torch.ops.aten.mish.default, (n,), {}, on_cpu=True)
    Traceback (most recent call last):
    NotImplementedError: "mish_cpu" not implemented for 'Long'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

KEPT: Final = 1 << 14

Dtypes = tuple[torch.dtype | None, ...]

_found: Final[dict[tuple[object, ...], Dtypes | None]] = {}


def dtypes_of(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object], *, on_cpu: bool = False
) -> Dtypes | None:
    """The dtypes of the results; None if one-element tensors cannot determine them. On the CPU, raises the operator's
    error instead."""
    key: list[object] = [func, torch.get_default_dtype(), on_cpu]
    _describe(key, args)
    for name, value in kwargs.items():
        key.append(name)
        _describe(key, value)
    whole = tuple(key)
    try:
        if whole in _found:
            return _found[whole]
    except TypeError:
        return None
    if len(_found) >= KEPT:
        _found.clear()
    found = _found[whole] = _asked(func, args, kwargs, on_cpu)
    return found


def _describe(key: list[object], value: Any) -> None:
    kind = type(value)
    if isinstance(value, torch.Tensor):
        key.append((value.dtype, value.dim()))
    elif kind is list or kind is tuple:
        key.append(len(value))
        for item in value:
            _describe(key, item)
    elif kind is torch.SymInt or kind is torch.SymFloat or kind is torch.SymBool:
        key.append(kind)
    else:
        key.append(kind)
        key.append(value)


def _asked(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object], on_cpu: bool
) -> Dtypes | None:
    device = torch.device("cpu" if on_cpu else "meta")
    with torch._C._DisablePythonDispatcher(), torch._C._DisableAutocast():
        try:
            given = [_tiny(arg, device) for arg in args]
            made = func(*given, **{name: _tiny(value, device) for name, value in kwargs.items()})
        except (RuntimeError, TypeError, ValueError, IndexError):
            if on_cpu:
                raise
            return None
    if isinstance(made, torch.Tensor):
        return (made.dtype,)
    return tuple([one.dtype if isinstance(one, torch.Tensor) else None for one in made])


def _tiny(value: object, device: torch.device) -> object:
    if isinstance(value, torch.Tensor):
        return torch.ones((1,) * value.dim(), dtype=value.dtype, device=device)
    if isinstance(value, list | tuple):
        return [_tiny(item, device) for item in value]
    if isinstance(value, torch.SymInt):
        return 1
    if isinstance(value, torch.SymFloat):
        return 1.0
    if isinstance(value, torch.device):
        return device
    return True if isinstance(value, torch.SymBool) else value
