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
from typing import Any, Final, TypeAlias

import torch
from torch._C._dynamo.guards import _empty_strided_cpu

from backends.cpu.compiler import compile_all, load
from backends.cpu.emission import file_source
from backends.cpu.launcher import launcher as launching
from backends.cpu.pages import LARGE, in_large_pages, pooled
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from shapes.guards.toolchain import Unavailable

device: Final = "cpu"
"""Where the tensors are that its kernels take."""
allocate: Final = _empty_strided_cpu
"""Sizes, strides and a dtype to a tensor, in the least time that torch takes for it."""
large: Final = (LARGE, in_large_pages)
"""From how many bytes on something is done with fresh memory, and what."""
threads: Final = torch.get_num_threads
"""What each kernel is given behind its numbers."""
interchanges: Final = True
"""Whether a kernel that goes by rows may sum over rows as well."""
Part: TypeAlias = tuple[Any, tuple[int, ...], tuple[int, ...], int]
IN_ONE_FILE: Final = 12
"""Kernels that are compiled together; more are several files, compiled at the same time."""


def kernels(scheduled: Sequence[Kernel], decisions: Decisions) -> list[Callable[..., None]] | Unavailable:
    """Calls that take the tensors of `Kernel.buffers`, then the `Kernel.scalars` and the number of threads."""
    native = launching()
    if isinstance(native, Unavailable):
        return native
    files = [scheduled[start : start + IN_ONE_FILE] for start in range(0, len(scheduled), IN_ONE_FILE)]
    calls: list[Callable[..., None]] = []
    for inside, path in zip(files, compile_all([file_source(each, decisions) for each in files], openmp=True)):
        if isinstance(path, Unavailable):
            return path
        decisions.libraries[path] = None
        decisions.files.append(path)
        library = load(path)
        for place, kernel in enumerate(inside):
            address, several = _address(library, f"k{place}"), f"k{place}_together"
            turns = kernel.interleaved if hasattr(library, several) else None
            begun = () if turns is None else (_address(library, several), turns.kernels)
            calls.append(native.Kernel(address, len(kernel.buffers), len(kernel.scalars) + 1, library, *begun))
    return calls


def combine(parts: Sequence[Part], tensors: int, numbers: int) -> Callable[..., None]:
    """One call for several that `kernels` has given, each with which of all tensors and of all numbers are its, and how
    many from it on may run turn by turn."""
    native = launching()
    assert not isinstance(native, Unavailable), "there are kernels"
    have = [(launch, *places, count if launch.kernels == count else 1) for launch, *places, count in parts]
    return native.Kernels(tuple(have), tensors, numbers)


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


__all__ = ["allocate", "combine", "device", "interchanges", "kernels", "large", "pooled", "threads"]
