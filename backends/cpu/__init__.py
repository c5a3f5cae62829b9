"""The CPU backend: fused kernels as self-contained C, built by the C compiler of the machine.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends.cpu import kernels
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> decisions = Decisions(env)
    >>> program = Program(decisions)
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.reduce("sum", x, (1,)), (program.build.one,)))
    >>> (launch,) = kernels(schedule(program), decisions)
    >>> total = torch.empty(2)
    >>> launch(total, torch.ones(2, 5), 2, 5, 1)                       # the tensors, the sizes, and how many threads
    >>> total
    tensor([5., 5.])

`emission` writes the text, `vector` is the library that it calls, `compiler` compiles it, and `launcher` calls it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Final

import torch

from backends.backend import Launch, Part
from backends.cpu.compiler import compile_all, load
from backends.cpu.emission import file_source
from backends.cpu.launcher import Launcher, allocating, interleaved_by
from backends.cpu.launcher import launcher as launching
from backends.cpu.operators import operator
from backends.cpu.pages import LARGE, in_large_pages, pooled
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from shapes.guards.toolchain import Unavailable

device: Final = "cpu"
allocate: Final = allocating()
large: Final = (LARGE, in_large_pages)
threads: Final = torch.get_num_threads
interchanges: Final = True
IN_ONE_FILE: Final = 12
"""Kernels that are compiled together; more are several files, compiled at the same time."""


def kernels(scheduled: Sequence[Kernel], decisions: Decisions) -> list[Launch] | Unavailable:
    """Launches that take the tensors of `Kernel.buffers`, then the `Kernel.scalars` and the number of threads."""
    native = launching()
    if isinstance(native, Unavailable):
        return native
    files = [scheduled[start : start + IN_ONE_FILE] for start in range(0, len(scheduled), IN_ONE_FILE)]
    calls: list[Launch] = []
    own = {store.buffer for kernel in scheduled for store in kernel.stores if store.buffer.role == "made"}
    for inside, path in zip(files, compile_all([file_source(each, decisions) for each in files], openmp=True)):
        if isinstance(path, Unavailable):
            return path
        decisions.libraries[path] = None
        decisions.files.append(path)
        library = load(path)
        for place, kernel in enumerate(inside):
            length = kernel.interleaved.kernels if kernel.interleaved else 0
            plain = tuple([number for number, buffer in enumerate(kernel.buffers) if buffer in own])
            calls.append(launch_of(native, library, place, len(kernel.buffers), len(kernel.scalars), length, plain))
    return calls


def launch_of(
    native: Launcher,
    library: ctypes.CDLL,
    place: int,
    buffers: int,
    scalars: int,
    interleaved: int,
    plain: tuple[int, ...] = (),
) -> Launch:
    """A library's kernel with this many arguments; `interleaved` is the length of the group that starts with it, and
    `plain` are the buffers in memory that the program allocates for its kernels."""
    several = f"k{place}_interleaved"
    begun = (_address(library, several), interleaved) if interleaved and hasattr(library, several) else (0, 1)
    return native.Kernel(_address(library, f"k{place}"), buffers, scalars + 1, library, *begun, plain)


def combine(parts: Sequence[Part], tensors: int, scalars: int) -> Launch:
    """One launch for several of `kernels`, which runs interleaved groups by the function that was emitted for them."""
    native = launching()
    assert not isinstance(native, Unavailable), "there are kernels"
    launches, numbers = [], list[int]()
    for launch, buffers, its_numbers, count in parts:
        launches.append((launch, buffers, len(numbers), count if interleaved_by(launch) == count else 1))
        numbers += its_numbers
    return native.Kernels(tuple(launches), tuple(numbers), tensors, scalars)


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


__all__ = ["allocate", "combine", "device", "interchanges", "kernels", "large", "operator", "pooled", "threads"]
