"""Calls of compiled kernels on the device at hand, or of the interpreter.

    >>> from backends.triton.calling import caller
    >>> caller.__name__
    'caller'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from triton import knobs
from triton.runtime import driver

from backends.triton.compiling import compiled, function
from backends.triton.emission import Source

if TYPE_CHECKING:
    import torch

Call = Callable[[int, "Sequence[torch.Tensor]", Sequence[int], Sequence[int]], object]


def caller(source: Source) -> Call:
    """A call with the number of programs, the tensors, their addresses, and the numbers."""
    return _interpreted(source) if knobs.runtime.interpret else _on_device(source)


def _interpreted(source: Source) -> Call:
    run = function(source)

    def call(grid: int, tensors: Sequence[torch.Tensor], pointers: Sequence[int], numbers: Sequence[int]) -> None:
        run[(grid,)](*tensors, *numbers)

    return call


def _on_device(source: Source) -> Call:
    kernel = compiled(source)
    run, handle, packed = kernel.run, kernel.function, kernel.packed_metadata
    device = driver.active.get_current_device()
    stream = driver.active.get_current_stream

    def call(grid: int, tensors: Sequence[torch.Tensor], pointers: Sequence[int], numbers: Sequence[int]) -> None:
        run(grid, 1, 1, stream(device), handle, packed, None, None, None, *pointers, *numbers)

    return call
