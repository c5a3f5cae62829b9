"""A backend: a protocol of nine attributes, of which three have no default.

    >>> import torch
    >>> from backends import cpu
    >>> from backends.backend import Backend, emits_kernels
    >>> from backends.interpreter import interpreted
    >>> class Interpreted(Backend):
    ...     device = "cpu"
    ...     def allocate(self, sizes, strides, dtype):
    ...         return torch.empty_strided(sizes, strides, dtype=dtype)
    ...     def kernels(self, scheduled, decisions):
    ...         return interpreted(scheduled)
    >>> emits_kernels(Interpreted()), emits_kernels(cpu), Interpreted().interchanges
    (True, True, False)

A frontend lowers a graph to a `Program`; `backends.program.host` schedules it, asks the backend for a launch of each
kernel, plans the memory and generates the host function. So a backend compiles kernels and allocates memory, and says
what else it can do. A class that inherits from `Backend` has the defaults; a module with all nine attributes is a
backend as well. `backends.testing.conformance` tests either.

A backend that runs graphs operator by operator emits no kernels: it is a `GraphBackend`, as `backends.eager` is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard

from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from shapes.guards.toolchain import Unavailable

if TYPE_CHECKING:
    import torch
    from torch.fx import GraphModule

Sizes: TypeAlias = Sequence[int]
Run: TypeAlias = Callable[[Sequence[object]], Sequence[object]]
"""The function that runs a graph: from its inputs, as one sequence, to its outputs."""
LargeMemory: TypeAlias = "tuple[int, Callable[[torch.Tensor], None]]"
Pool: TypeAlias = "Callable[[int, Sizes, Sizes, torch.dtype], torch.Tensor]"


class Operator(Protocol):
    """A callable in the place of one of torch's, with the same arguments and result."""

    def __call__(self, *arguments: object, **named: object) -> object: ...


class Launch(Protocol):
    """A compiled kernel: takes the tensors of `Kernel.buffers` and the integers of `Kernel.scalars`, by position, and
    writes to those that the kernel stores to."""

    def __call__(self, *arguments: torch.Tensor | int) -> object: ...


Part: TypeAlias = tuple[Launch, tuple[int, ...], tuple[int, ...], int]
"""A launch, the numbers of its tensors and of its scalars among those of the group, and the length of the interleaved
group that starts with it (1 if none does)."""
Combine: TypeAlias = Callable[[Sequence[Part], int, int], Launch]
"""Launches, and how many tensors and scalars they have together, to one launch that takes these."""


class Backend(Protocol):
    """A backend that compiles kernels."""

    @property
    def device(self) -> str:
        """The type of device that its kernels' tensors are on."""

    def allocate(self, sizes: Sizes, strides: Sizes, dtype: torch.dtype, /) -> torch.Tensor:
        """Uninitialized memory on the current device. It is called for each buffer of each run: it should be fast."""

    def kernels(self, scheduled: Sequence[Kernel], decisions: Decisions, /) -> Sequence[Launch] | Unavailable:
        """A launch for each kernel, in order; or why there is none here, and graphs run operator by operator.

        The kernels are those of one program. Code that depends on sizes is decided by `decisions.holds`, which logs it;
        what stays open must be handled at run time. A kernel may be run by `backends.interpreter` instead.
        """

    @property
    def interchanges(self) -> bool:
        """True if kernels may have stores that accumulate over the outer axes (`Store.accumulates`), and consecutive
        kernels may be interleaved.
        """
        return False

    @property
    def threads(self) -> Callable[[], int] | None:
        """The number of threads, if that is the last argument of every launch; it is asked once a run."""
        return None

    @property
    def combine(self) -> Combine | None:
        """The function that makes one launch of several consecutive ones; None if that is not faster."""
        return None

    @property
    def large(self) -> LargeMemory | None:
        """The number of bytes from which fresh memory is prepared, and its preparation: by huge pages, for example."""
        return None

    @property
    def pooled(self) -> Pool | None:
        """Allocates large memory that the caller of a program does not see: bytes, sizes, strides, dtype. None leaves
        it to `allocate`."""
        return None

    @property
    def operator(self) -> Callable[[object], Operator | None] | None:
        """Finds a faster callable for an operator that programs call; None where torch's is as fast."""
        return None


class GraphBackend(Protocol):
    """A backend that runs graphs without kernels."""

    def runner(self, graph: GraphModule, /) -> Run:
        """A call that takes the inputs of a graph as one sequence and returns its outputs."""


AnyBackend: TypeAlias = Backend | GraphBackend
REQUIRED = ("device", "allocate", "kernels", "interchanges", "threads", "combine", "large", "pooled", "operator")


def missing_from(backend: object) -> list[str]:
    """The attributes that an object lacks to be a backend of either kind: none, where it is one."""
    if callable(getattr(backend, "runner", None)):
        return []
    return [name for name in REQUIRED if not hasattr(backend, name)]


def emits_kernels(backend: AnyBackend) -> TypeGuard[Backend]:
    """True if a backend compiles kernels; False if it runs graphs operator by operator."""
    return hasattr(backend, "kernels")


def runs_graphs(backend: AnyBackend) -> TypeGuard[GraphBackend]:
    """Return True if a backend runs graphs operator by operator."""
    return hasattr(backend, "runner")


def name_of(backend: AnyBackend) -> str:
    """A backend for people: the name of its module, or of its class."""
    return str(getattr(backend, "__name__", type(backend).__name__))
