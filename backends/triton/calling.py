"""Compiled kernels loaded on a device, or into the interpreter, and calls of them with addresses.

>>> from backends.triton.calling import loaded
>>> loaded.__name__
'loaded'
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, Final, Protocol

import torch
from triton import knobs
from triton.compiler import CompiledKernel
from triton.runtime import driver

from backends.progress import awaited
from backends.triton.compiling import compiled, function
from backends.triton.emission import Source

MOST_COMPILERS: Final = 8
"""Kernels that are compiled at a time."""
_compiling: set[Future[CompiledKernel]] = set()
"""Code that nobody has waited for yet."""


class Call(Protocol):
    """A launch with the addresses of the tensors."""

    def __call__(self, *pointers: int) -> object: ...


class Loaded(Protocol):
    """Code that is ready."""

    def call(self, grid: int, numbers: Sequence[int]) -> Call:
        """A call with addresses, for this many programs, with the numbers after the pointers."""


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_COMPILERS), thread_name_prefix="triton")


def begun(source: Source) -> Future[CompiledKernel]:
    """Code for the current device, made beside what goes on."""
    code = _compilers().submit(compiled, source, driver.active.get_current_target())
    _compiling.add(code)
    return code


def loaded(source: Source, device: int, code: Future[CompiledKernel] | None = None) -> Loaded:
    """The code of a kernel on a device; -1 is the CPU, where only the interpreter runs."""
    if knobs.runtime.interpret:
        return Interpreted(source)
    if device < 0:
        raise ValueError(f"device={device}: Triton's kernels are for tensors on a GPU; TRITON_INTERPRET=1 runs others")
    if code is not None:
        awaited(tuple(_compiling))
        _compiling.clear()
    with torch.cuda.device(device):
        return OnDevice(compiled(source) if code is None else code.result(), device)


class OnDevice:
    """A kernel on a GPU, called as Triton calls it, without another look at the arguments."""

    def __init__(self, kernel: CompiledKernel, device: int) -> None:
        self._run: Final = kernel.run
        self._handle: Final = kernel.function
        self._packed: Final = kernel.packed_metadata
        self._device: Final = device

    def call(self, grid: int, numbers: Sequence[int]) -> Call:
        """The launch with these numbers, on the stream that is current at each call."""
        run, handle, packed, device = self._run, self._handle, self._packed, self._device
        stream, current = driver.active.get_current_stream, driver.active.get_current_device

        def call(*pointers: int) -> None:
            if current() == device:
                run(grid, 1, 1, stream(device), handle, packed, None, None, None, *pointers, *numbers)
            else:
                with torch.cuda.device(device):
                    run(grid, 1, 1, stream(device), handle, packed, None, None, None, *pointers, *numbers)

        return call


class Interpreted:
    """A kernel in Triton's interpreter, on memory of the host."""

    def __init__(self, source: Source) -> None:
        # a function of Triton's, of which a grid makes a launch
        self._function: Any = function(source)  # type: ignore[explicit-any]
        self._kinds = [getattr(torch, dtype) for dtype in source.pointers.values()]

    def call(self, grid: int, numbers: Sequence[int]) -> Call:
        """Triton wants tensors: they are made of one element each, it goes by their addresses."""

        def call(*pointers: int) -> None:
            tensors = [self._element(pointer, kind) for pointer, kind in zip(pointers, self._kinds)]
            self._function[(grid,)](*tensors, *numbers)

        return call

    @staticmethod
    def _element(pointer: int, kind: torch.dtype) -> torch.Tensor:
        if not pointer:
            return torch.empty(0, dtype=kind)
        return torch.frombuffer((ctypes.c_char * kind.itemsize).from_address(pointer), dtype=kind)
