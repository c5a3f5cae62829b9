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

`Kernel(address, tensors, numbers, library=None, interleaved=0, kernels=1)` calls
`void k(void *const *pointers, const int64_t *numbers)`. It takes exactly that many tensors and then numbers, by
position. It raises `Unreadable` for tensors whose memory is not on the CPU, or does not hold their values (sparse,
quantized, with the negative bit); it does not check sizes and dtype. `library` is kept alive. `interleaved` is the
address of `void k(void *const *const *pointers, const int64_t *const *numbers)`, which runs this kernel and those after
it, `kernels` in all, interleaved.

`Kernels(launches, numbers, tensors, given)` calls several in order. Each launch is `(kernel, tensors, first, kernels)`:
the kernel, the indices of its tensors among the arguments, where its own begin in `numbers`, and the length of the
interleaved group from it on. `numbers` are indices among the numbers that are given; then come the total counts
(`backends.program.launch_groups`).

`Program` is a whole graph of kernels (`backends.cpu.launcher.program`), `Entry` finds the program for a call
(`backends.cpu.launcher.entry`).

`Apart(given, constants, written)` is the alias check: whether the tensors at the indices `written`, of `given`
arguments and the constants after them, overlap no other one (`frontends.pytorch.graphs.functional`). It sorts byte
ranges, and caches those of unchanged tensors; None where a tensor cannot be read.
`Layouts(tensors)` checks whether sizes, strides, dtype and `requires_grad` of tensors are unchanged since its
construction.

Tensors are read through torch's DLPack exchange API, which needs no headers of torch and allocates no object. A single
kernel needs no sizes, only data pointers, which a function of torch returns. The GIL is released for many elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast

from backends import Unreadable
from backends.backend import Launch
from backends.cpu.launcher.learning import learned
from backends.cpu.launcher.numbers import with_operations
from shapes.guards.extension_modules import build
from shapes.guards.toolchain import Unavailable

PARTS: Final = ("reading", "kernel", "numbers", "program", "making", "several", "entry", "ranges", "layouts", "module")
"""The text of the module, in the order in which each uses what is before it."""


Made = TypeVar("Made", covariant=True)


class Make(Protocol[Made]):
    """A type of the extension module, which looks at what it is given by itself."""

    def __call__(self, *arguments: object) -> Made: ...


class NativeProgram(Protocol):
    """A whole graph in C: tensors, then integers; `NotImplemented` where they are not for it."""

    def __call__(self, *arguments: object) -> object: ...


class Launcher(Protocol):
    """The extension module: its types."""

    Kernel: Make[Launch]
    Kernels: Make[Launch]
    Program: Make[NativeProgram]
    Entry: Make[Callable[[tuple[object, ...], Mapping[str, object]], object]]
    Apart: Make[Callable[[Sequence[object]], bool | None]]
    Layouts: Make[Callable[[], bool]]


@cache
def launcher() -> Launcher | Unavailable:
    """The extension module, built or from the cache."""
    import torch

    here = Path(__file__).parent
    bind = build(with_operations("".join([here.joinpath(f"{part}.c").read_text() for part in PARTS])))
    if isinstance(bind, Unavailable):
        return bind
    try:
        empty = torch._C._dynamo.guards._empty_strided_cpu
        module = bind(  # type: ignore[call-arg]
            *(torch.Tensor, torch.nn.Parameter, empty, vars(torch.autograd.forward_ad), Unreadable),
            *(torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack),
            *(torch._C._functorch.peek_interpreter_stack, torch.is_grad_enabled, torch.get_default_dtype),
            *(torch._C._is_any_autocast_enabled, torch.get_num_threads),
            getattr(torch._C._dynamo.guards, "_torchinductor_pyobject_tensor_data_ptr", 0),
            astuple(learned()),
        )
        return cast(Launcher, module)
    except (ImportError, AttributeError) as error:
        return Unavailable(f"this torch is not known to the launcher: {error}")


def interleaved_by(launch: object) -> int:
    """How many kernels the function runs that was emitted for the interleaved group of a launch; 1 for none."""
    return int(getattr(launch, "kernels", 1))


__all__ = ["Launcher", "NativeProgram", "Unavailable", "interleaved_by", "launcher"]
