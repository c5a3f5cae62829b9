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

`Kernel(address, tensors, numbers, library=None, interleaved=0, kernels=1, plain=())` calls
`void k(void *const *pointers, const int64_t *numbers)`. It takes exactly that many tensors and then numbers, by
position. It raises `Unreadable` for tensors whose memory is not on the CPU, or does not hold their values (sparse,
quantized, with the negative bit); it does not check sizes and dtype. `plain` are the indices of tensors that the caller
allocated, so that they have no negative bit: asking for it takes longer than all else. `library` is kept alive.
`interleaved` is the address of `void k(void *const *const *pointers, const int64_t *const *numbers)`, which runs this
kernel and those after it, `kernels` in all, interleaved.

`Kernels(launches, numbers, tensors, given)` calls several in order. Each launch is `(kernel, tensors, first, kernels)`:
the kernel, the indices of its tensors among the arguments, where its own begin in `numbers`, and the length of the
interleaved group from it on. `numbers` are indices among the numbers that are given; then come the total counts
(`backends.program.launch_groups`).

`Operator(address, function, names, results, library)` is one of torch's functions, called with arguments of these names
last, or without the first of them. `int k(void **pointers, int64_t *numbers, int64_t given)` computes it; where that
returns 0, torch does. Numbers are those of each argument and each result behind them: the type of elements, the rank,
and sizes and strides up to rank 4; or the bits of a Python number. Without pointers it only says whether it would
compute it, and describes the results. One that makes none returns its last argument.

`Program` is a whole graph of kernels (`backends.cpu.launcher.program`), `Entry` finds the program for a call
(`backends.cpu.launcher.entry`), `call_first` has C call the entries of a class's instances.

`Apart(given, constants, written)` is the alias check: whether the tensors at the indices `written`, of `given`
arguments and the constants after them, overlap no other one (`frontends.pytorch.graphs.functional`). It sorts byte
ranges, if one has changed since the last call; None where a tensor cannot be read.

Tensors are read through the DLPack C exchange API (`dlpack.c`), which needs no header and no layout of torch and calls
no Python. What it does not show is asked of torch's methods: the negative and the conjugate bit, `requires_grad`. Types
of other libraries that offer the API are read in the same way; a program's results for them are arrays of that type.
Where torch has no such API, or one of another major version, the launcher is `Unavailable`. The GIL is released for
many elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

from backends import Unreadable
from backends.backend import Launch
from backends.cpu.launcher.numbers import with_operations
from shapes.guards.extension_modules import build
from shapes.guards.toolchain import Unavailable

if TYPE_CHECKING:
    import torch

PARTS: Final = (
    *("dlpack", "reading", "owners", "kernel", "operator", "numbers", "program", "making", "several", "entry"),
    *("calling", "ranges", "module"),
)
"""The text of the module, in the order in which each uses what is before it."""
OPERAND: Final = f"OPERAND = 10, RANK = 1, SIZE = 2, STRIDE = 6, F32 = {2 << 8 | 32}, I64 = {64}"
"""The numbers of an operand of an `Operator`, for C: their count, the indices of some, types of elements."""

Made = TypeVar("Made", covariant=True)


class Make(Protocol[Made]):
    """A type of the extension module, which looks at what it is given by itself."""

    def __call__(self, *arguments: object) -> Made: ...


class Allocate(Protocol):
    """Uninitialized memory on the CPU."""

    def __call__(self, sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype, /) -> torch.Tensor: ...


class Check(Protocol):
    """A comparison of the metadata of tensors with that of others."""

    def __call__(self, *tensors: torch.Tensor) -> bool: ...


class Compare(Protocol):
    """The check that others are like these tensors."""

    def __call__(self, *tensors: torch.Tensor) -> Check: ...


class NativeProgram(Protocol):
    """A whole graph in C: tensors, then integers; `NotImplemented` where they are not for it."""

    def __call__(self, *arguments: object) -> object: ...


class NativeOperator:
    """One of torch's functions in C.

    Attributes:
        names: of the arguments that are given by name, the last ones.
        results: how many it makes.
    """

    names: tuple[str, ...]
    results: int

    def __init__(self, *arguments: object) -> None: ...

    def __call__(self, *arguments: object, **named: object) -> object: ...


class Launcher(Protocol):
    """The extension module: its types."""

    Kernel: Make[Launch]
    Kernels: Make[Launch]
    Operator: type[NativeOperator]
    Program: Make[NativeProgram]
    Entry: Make[Callable[[tuple[object, ...], Mapping[str, object]], object]]
    Apart: Make[Callable[[Sequence[object]], bool | None]]
    call_first: Callable[[type, str, str], None]


def source() -> str:
    """The text of the extension module."""
    here = Path(__file__).parent
    return with_operations("".join([here.joinpath(f"{part}.c").read_text() for part in PARTS]))


@cache
def launcher() -> Launcher | Unavailable:
    """The extension module, built or from the cache."""
    import torch

    bind = build(source())
    if isinstance(bind, Unavailable):
        return bind
    try:
        module = bind(  # type: ignore[call-arg]
            *(torch.Tensor, torch.nn.Parameter, torch._C.DisableTorchFunction, allocating(), comparing()),
            *(vars(torch.autograd.forward_ad), Unreadable),
            *(torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack),
            *(torch._C._functorch.peek_interpreter_stack, torch.is_grad_enabled, torch.get_default_dtype),
            *(torch._C._is_any_autocast_enabled, torch.get_num_threads),
        )
        return cast(Launcher, module)
    except (ImportError, AttributeError) as error:
        return Unavailable(f"this torch is not known to the launcher: {error}")


def allocating() -> Allocate:
    """Torch's fastest function that allocates: the one that its own generated code calls takes 0.3 us, a public one,
    where there is no such function, 0.9 us."""
    import torch

    def empty_strided(sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype, /) -> torch.Tensor:
        return torch.empty_strided(sizes, strides, dtype=dtype, device="cpu")

    return cast(Allocate, getattr(torch._C._dynamo.guards, "_empty_strided_cpu", empty_strided))


def comparing() -> Compare | None:
    """A function from tensors to Dynamo's check that others are like them: of their classes, ranks, dtypes, marks and
    needs of gradients, apart from each other, under the same modes of dispatch. A call takes 0.04 us for each, two
    methods 0.1 us. None where torch has no such check."""
    import torch

    kind = getattr(torch._C._dynamo.guards, "TensorGuards", None)
    if kind is None:
        return None

    def check_of(*tensors: torch.Tensor) -> Check:
        anything = [[None] * tensor.dim() for tensor in tensors]
        return cast(Check, kind(*tensors, dynamic_dims_sizes=anything, dynamic_dims_strides=anything).check)

    return check_of


def interleaved_by(launch: object) -> int:
    """The number of kernels that the function emitted for the interleaved group of a launch runs; 1 for none."""
    return int(getattr(launch, "kernels", 1))


__all__ = ["Launcher", "NativeOperator", "NativeProgram", "Unavailable", "allocating", "interleaved_by", "launcher"]
