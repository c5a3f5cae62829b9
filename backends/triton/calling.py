"""Calls of compiled kernels on the device at hand, or of the interpreter.

    >>> from backends.triton.calling import caller
    >>> caller.__name__
    'caller'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from triton import knobs
from triton.runtime import driver

from backends.triton.compiling import compiled, function
from backends.triton.emission import Source

if TYPE_CHECKING:
    import torch

    from backends.triton.launching import Call


def caller(source: Source, grid: int, numbers: Sequence[int], device: int) -> Call:
    """A call with the tensors and their addresses, of so many programs, with these numbers behind the pointers."""
    if knobs.runtime.interpret:
        return _interpreted(source, grid, numbers)
    return _on_device(source, grid, numbers, device)


def _interpreted(source: Source, grid: int, numbers: Sequence[int]) -> Call:
    run = function(source)

    def call(tensors: Sequence[torch.Tensor], pointers: Sequence[int]) -> None:
        run[(grid,)](*tensors, *numbers)

    return call


def _on_device(source: Source, grid: int, numbers: Sequence[int], device: int) -> Call:
    """On the stream that is current at each call; the device's own code is loaded when it is first called."""
    import torch

    if device < 0:
        raise ValueError(f"device={device}: Triton's kernels are for tensors on a GPU; TRITON_INTERPRET=1 runs others")
    with torch.cuda.device(device):
        kernel = compiled(source)
        run, handle, packed = kernel.run, kernel.function, kernel.packed_metadata
    stream, current = driver.active.get_current_stream, driver.active.get_current_device

    def call(tensors: Sequence[torch.Tensor], pointers: Sequence[int]) -> None:
        if current() == device:
            run(grid, 1, 1, stream(device), handle, packed, None, None, None, *pointers, *numbers)
        else:
            with torch.cuda.device(device):
                run(grid, 1, 1, stream(device), handle, packed, None, None, None, *pointers, *numbers)

    return call
