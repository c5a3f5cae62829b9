"""A whole graph of kernels as one call: guards, sizes, memory for the outputs, and the kernels, all in C.

    >>> import ctypes, torch
    >>> from backends.cpu.launcher import launcher
    >>> from backends.cpu.launcher.program import Description, Launch, Made, TensorArgument, make_native
    >>> from solver.terms.interner import Interner
    >>> @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64))
    ... def twice(pointers, numbers):
    ...     x, y = [(ctypes.c_float * numbers[0]).from_address(pointers[place]) for place in range(2)]
    ...     for place in range(numbers[0]):
    ...         y[place] = 2 * x[place]
    >>> kernel = launcher().Kernel(ctypes.cast(twice, ctypes.c_void_p).value, 2, 1, twice)
    >>> terms = Interner()
    >>> n, one = terms.symbol("n"), terms.constant(1)
    >>> run = make_native(
    ...     Description(
    ...         tensors=[TensorArgument("x", "float32", 1, contiguous=True)],
    ...         symbols={n: ("x", ".shape", 0)},
    ...         outputs=[Made("float32", (n,), (one,))],
    ...         launches=[Launch(kernel, (0, 1), (n,))],
    ...     )
    ... )
    >>> run(torch.ones(3)), run(torch.ones(3, 1))
    ([tensor([2., 2., 2.])], NotImplemented)

A program takes its tensors and then its integers by position. NotImplemented says that it is not for them: another
dtype or rank, tensors that kernels cannot read, guards that do not hold, a size beyond 64 bits, a check of elements
that fails, an operator that torch should compute. Nothing has been done then. Not looked at is what is no argument,
such as the grad mode; that is for `backends.cpu.launcher.entry`. A program writes to no argument.

Buffers are numbered: arguments, constants, outputs that are made, temporaries.

Nothing is compiled for a program: the launcher goes through steps (`backends.cpu.launcher.numbers`), which takes a few
nanoseconds for each, where a compiler would take 40 milliseconds before the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch

from backends.cpu.launcher import NativeProgram, Unavailable, launcher
from backends.cpu.launcher.numbers import INTEGER, SIZE, STRIDE, THREADS, Leaf, Steps
from backends.loops.operations import DTYPES, ITEMSIZE
from shapes.guards.arguments import Path
from shapes.guards.codegen import Check
from shapes.guards.dispatch import copied
from shapes.guards.emit_c import NotNative
from solver.terms.expr import Expr
from solver.terms.prop import Prop

CODES: Final = dict(zip(DTYPES, (2, 2, 2, 4, 0, 0, 0, 0, 1, 6)))
"""DLPack's codes of the dtypes that kernels read."""


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor that a program is given.

    Attributes:
        contiguous: what `is_contiguous()` says; None where both will do.
    """

    name: str
    dtype: str
    rank: int
    contiguous: bool | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """An output with memory of its own."""

    dtype: str
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """An output that is one of the tensor arguments."""

    place: int


@dataclass(frozen=True, slots=True)
class Again:
    """An output that is an output before it."""

    place: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """An output that is always the same object."""

    value: object


@dataclass(frozen=True, slots=True)
class Number:
    """An output that is an integer."""

    value: Expr


Output: TypeAlias = Made | Given | Again | Fixed | Number


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel or an operator of the launcher, with the numbers of its buffers and what it is given besides: of an
    operator the numbers of its operands, and how many bytes from the start of its buffer each begins."""

    kernel: object
    buffers: tuple[int, ...]
    numbers: tuple[Expr, ...]
    threads: bool = False
    """True if the kernel takes torch's number of threads after the scalars."""
    kernels: int = 1
    """The length of the interleaved group that starts with it."""
    checks: tuple[int, ...] = ()
    """The numbers of buffers of one truth value each; where one is false behind it, the program is not for the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The description of a program.

    Attributes:
        tensors: the arguments that are tensors.
        integers: the names of those behind them.
        symbols: where each symbol is found: `(name, ".shape", axis)`, `(name, ".stride()", axis)` or `(name,)`.
        constants: tensors that are always the same.
        scratch: bytes of each temporary.
        structure: what is returned: None for the one output, `tuple`, `list`, or what is called with the list.
        changed: takes the list of outputs, and returns that of which `structure` is made; None if it is the same.
        guards: a check whose sources are among the arguments.
        conditions: what else must hold.
    """

    tensors: Sequence[TensorArgument]
    integers: Sequence[str] = ()
    symbols: Mapping[Expr, Path]
    outputs: Sequence[Output]
    launches: Sequence[Launch]
    constants: Sequence[object] = ()
    scratch: Sequence[Expr] = ()
    structure: Callable[[list[object]], object] | None = list
    changed: Callable[[list[object]], Sequence[object]] | None = None
    guards: Check | None = None
    conditions: Sequence[Prop] = ()

    @property
    def has_operators(self) -> bool:
        """True if the program calls operators, which are computed in C where they are small."""
        return any(hasattr(launch.kernel, "results") for launch in self.launches)


def make_native(description: Description) -> NativeProgram | Unavailable:
    """The program; or why it is none."""
    found = launcher()
    if isinstance(found, Unavailable):
        return found
    try:
        return found.Program(*_Parts(description).parts())
    except (NotNative, ValueError) as error:
        return Unavailable(str(error))


class _Parts:
    """A description encoded for the launcher."""

    def __init__(self, description: Description) -> None:
        self._description = description
        symbols = {symbol: self._leaf(path) for symbol, path in description.symbols.items()}
        self._steps = Steps(symbols)
        self._numbers: list[int] = []

    def parts(self) -> tuple[object, ...]:
        """The arguments of `Program`.

        Raises:
            NotNative: an operation that programs do not have.
        """
        described, steps = self._description, self._steps
        if described.guards is not None:
            plan = described.guards.plan
            positions = [steps.leaf(self._leaf(path)).number for path in plan.arguments.paths]
            for operation in copied(plan.conditions, steps.operations, positions):
                steps.require(operation)
        for condition in described.conditions:
            steps.require(steps.lowering.proposition(condition))
        outputs = tuple([self._output(output) for output in described.outputs])
        first_scratch = self._more(described.scratch)
        placed: dict[tuple[object, ...], int] = {}
        launches = []
        for launch in described.launches:
            numbers = (*launch.numbers, launch.threads)
            if numbers not in placed:
                placed[numbers] = self._more(launch.numbers)
                self._numbers += [steps.value(steps.leaf((THREADS, 0, 0)))] if launch.threads else []
            launches.append((launch.kernel, launch.buffers, placed[numbers], launch.kernels, launch.checks))
        if steps.lowering.missing:
            raise NotNative(f"the symbol {next(iter(steps.lowering.missing)).name} is not found in the arguments")
        return (
            tuple([_expected(tensor) for tensor in described.tensors]),
            len(described.integers),
            tuple(described.constants),
            outputs,
            tuple(launches),
            *(len(described.scratch), first_scratch),
            *(steps.all(), steps.start, steps.count, steps.places(self._numbers)),
            self._structure(),
        )

    def _structure(self) -> Callable[[list[object]], object] | None:
        change, structure = self._description.changed, self._description.structure
        if change is None:
            return structure
        if structure is None:
            return lambda values: change(values)[0]
        return lambda values: structure(list(change(values)))

    def _more(self, wanted: Sequence[Expr]) -> int:
        """Append sizes to the numbers; the index of the first."""
        place = len(self._numbers)
        self._numbers += [self._steps.value(self._steps.lowering.expression(each)) for each in wanted]
        return place

    def _output(self, output: Output) -> tuple[int, object, int, int, int, int]:
        match output:
            case Made(dtype, sizes, strides):
                return 0, getattr(torch, dtype), *known(dtype), len(sizes), self._more([*sizes, *strides])
            case Given(place):
                return 1, None, 0, 0, 0, place
            case Again(place):
                return 2, None, 0, 0, 0, place
            case Fixed(value):
                return 3, value, 0, 0, 0, 0
            case Number(value):
                return 4, None, 0, 0, 0, self._more([value])

    def _leaf(self, path: Path) -> Leaf:
        """The code of a leaf: how the launcher reads a number of the arguments."""
        head, *steps = path
        names = [tensor.name for tensor in self._description.tensors]
        match steps:
            case [] if head in self._description.integers:
                return INTEGER, list(self._description.integers).index(str(head)), 0
            case [".shape" | ".stride()" as what, int(axis)] if head in names:
                return SIZE if what == ".shape" else STRIDE, names.index(str(head)), axis
        raise NotNative(f"{path!r} is not read by programs")


def _expected(tensor: TensorArgument) -> tuple[int, int, int, int]:
    """The properties that the launcher checks: the dtype in two numbers, the rank, and whether it is contiguous, or -1.
    """
    code, bits = known(tensor.dtype)
    return code, bits, tensor.rank, -1 if tensor.contiguous is None else int(tensor.contiguous)


def known(dtype: str) -> tuple[int, int]:
    """DLPack's code of a dtype, and its bits.

    Raises:
        NotNative: kernels do not read it.
    """
    if dtype not in CODES:
        raise NotNative(f"kernels do not read {dtype}")
    return CODES[dtype], 8 * ITEMSIZE[dtype]
