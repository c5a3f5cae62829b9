"""Launching compiled kernels with tensors, from C: an extension module that is built once per machine.

    >>> import ctypes, torch
    >>> from backends.cpu.launcher import Unavailable, launcher
    >>> @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64))
    ... def double(pointers, numbers):
    ...     values = (ctypes.c_float * numbers[0]).from_address(pointers[0])
    ...     for place in range(numbers[0]):
    ...         values[place] *= 2
    >>> found = launcher()
    >>> assert not isinstance(found, Unavailable), found.reason
    >>> kernel = found.Kernel(ctypes.cast(double, ctypes.c_void_p).value, 1, 1, double)
    >>> x = torch.ones(3)
    >>> kernel(x, 2)
    >>> x
    tensor([2., 2., 1.])

`Kernel(address, tensors, numbers, library=None)` calls `void k(void *const *pointers, const int64_t *numbers)`. It
takes exactly that many tensors and then numbers, by position. It raises TypeError for tensors whose memory is not on
the CPU, or does not hold their values as they are (sparse, quantized, marked as negative); it does not look at what
the sizes and the dtype are. `library` is kept alive.

Tensors are read through torch's DLPack exchange API: no headers of torch are needed, and no object is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from shapes.native import Unavailable, build

SOURCE: Final = Path(__file__).with_name("launcher.c")


@dataclass(frozen=True, slots=True)
class Launcher:
    """The types of the extension module."""

    Kernel: Callable[..., Callable[..., None]]


@cache
def launcher() -> Launcher | Unavailable:
    """The extension module, built or from the cache."""
    import torch

    bind = build(SOURCE.read_text())
    if isinstance(bind, Unavailable):
        return bind
    try:
        return Launcher(bind(torch.Tensor, torch.nn.Parameter))
    except (ImportError, AttributeError) as error:
        return Unavailable(f"this torch is not known to the launcher: {error}")


__all__ = ["Launcher", "Unavailable", "launcher"]
