"""A whole graph of kernels as one call: guards, sizes, memory for the outputs, and the kernels, all in C.

    >>> import torch
    >>> from backends.cpu.launcher.program import Description, Launch, Made, TensorArgument, make_native
    >>> from solver.interner import Interner
    >>> terms = Interner()
    >>> n, one = terms.symbol("n"), terms.constant(1)
    >>> kernels = '''
    ... void twice(void *const *pointers, const long *numbers) {
    ...     const float *x = pointers[0];
    ...     float *y = pointers[1];
    ...     for (long i = 0; i < numbers[0]; i++) y[i] = 2 * x[i];
    ... }'''
    >>> run = make_native(
    ...     Description(
    ...         kernels=kernels,
    ...         tensors=[TensorArgument("x", "float32", 1, contiguous=True)],
    ...         symbols={n: ("x", ".shape", 0)},
    ...         outputs=[Made("float32", (n,), (one,))],
    ...         launches=[Launch("twice", (0, 1), (n,))],
    ...     )
    ... )
    >>> run(torch.ones(3)), run(torch.ones(3, 1))
    ([tensor([2., 2., 2.])], NotImplemented)

A program takes its tensors and then its integers by position. NotImplemented says that it is not for them: another
dtype or rank, tensors that kernels cannot read, guards that do not hold, a size beyond 64 bits. Nothing has been done
then. Not looked at is what is no argument, such as the grad mode; that is for `backends.cpu.launcher.entry`.

The C text of a graph has no headers. It exports, beside its kernels,

    int program_plan(const struct tensor *const *tensors, const int64_t *integers, int64_t *numbers);
    void program_run(void *const *buffers, const int64_t *numbers);

The first tests the guards and fills in the numbers: sizes and strides of the outputs, bytes of the temporaries, what
each kernel is given. The second launches the kernels in order. The launcher reads the tensors before, and allocates
between the two. Buffers are numbered: arguments, constants, outputs that are made, temporaries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from backends.cpu.compiler import compile_source, load
from backends.cpu.launcher import Unavailable, launcher
from shapes.arguments import Path
from shapes.codegen import Check
from shapes.dispatch import copied
from shapes.lowering import Lowering, Operation, Operations
from shapes.native_form import ARITHMETIC, LARGEST, NotNative, checked, computed, declarations, variable
from shapes.python_form import reachable
from solver.expr import Expr

DTYPES: Final = {
    "bool": (6, 8),
    "uint8": (1, 8),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "float64": (2, 64),
}
"""The dtypes that kernels read: DLPack's code, and bits."""


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
    """A kernel, by its name in the text, with the numbers of its buffers and what it is given besides."""

    kernel: str
    buffers: tuple[int, ...]
    numbers: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a program is.

    Attributes:
        kernels: the C text that defines them.
        tensors: the arguments that are tensors.
        integers: the names of those behind them.
        symbols: where each symbol is found: `(name, ".shape", axis)`, `(name, ".stride()", axis)` or `(name,)`.
        constants: tensors that are always the same.
        scratch: bytes of each temporary.
        structure: what is returned: None for the one output, `tuple`, `list`, or what is called with the list.
        guards: a check whose sources are among the arguments.
        threads: the symbol that stands for torch's number of threads.
        openmp: whether the kernels have pragmas of OpenMP.
    """

    kernels: str
    tensors: Sequence[TensorArgument]
    integers: Sequence[str] = ()
    symbols: Mapping[Expr, Path]
    outputs: Sequence[Output]
    launches: Sequence[Launch]
    constants: Sequence[object] = ()
    scratch: Sequence[Expr] = ()
    structure: Callable[[list[object]], object] | None = list
    guards: Check | None = None
    threads: Expr | None = None
    openmp: bool = False


def make_native(description: Description) -> Callable[..., object] | Unavailable:
    """The program; or why it is none."""
    found = launcher()
    if isinstance(found, Unavailable):
        return found
    try:
        text = ProgramText(description)
    except NotNative as error:
        return Unavailable(str(error))
    path = compile_source(text.text, openmp=description.openmp)
    if isinstance(path, Unavailable):
        return path
    library = load(path)
    try:
        return found.Program(
            *(address(library.program_plan), address(library.program_run), library),
            tuple([expected(each) for each in description.tensors]),
            *(len(description.integers), description.threads is not None, tuple(description.constants)),
            *(tuple(text.outputs), len(description.scratch), text.first_scratch, len(text.numbers)),
            description.structure,
        )
    except TypeError as error:
        return Unavailable(f"a constant is no tensor that kernels read: {error}")


def address(function: Callable[..., object]) -> int:
    """Where the code of a function of a library is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def expected(tensor: TensorArgument) -> tuple[int, int, int, int]:
    """What the launcher looks at: the dtype in two numbers, the rank, and whether it is contiguous, or -1."""
    code, bits = DTYPES[tensor.dtype]
    return code, bits, tensor.rank, -1 if tensor.contiguous is None else int(tensor.contiguous)


class ProgramText:
    """The C text of a program, and where in it is what the launcher needs.

    Attributes:
        text: kernels and program.
        numbers: what `program_plan` computes, in order.
        outputs: as the launcher takes them: (source, object, rank, place).
        first_scratch: which of the numbers are the bytes of the temporaries.
    """

    def __init__(self, description: Description) -> None:
        for each in [*description.tensors, *[out for out in description.outputs if isinstance(out, Made)]]:
            if each.dtype not in DTYPES:
                raise NotNative(f"kernels do not read {each.dtype}")
        self._operations = Operations()
        self._paths: dict[Path, int] = {}
        symbols = {symbol: self._leaf(path) for symbol, path in description.symbols.items()}
        if description.threads is not None:
            symbols[description.threads] = self._leaf(THREADS)
        self._lowering = Lowering(self._operations, symbols)
        self.numbers: list[Operation] = []
        self.outputs = [self._output(output) for output in description.outputs]
        self.first_scratch = self._numbers(description.scratch)
        launches = self._launches(description)
        conditions: list[Operation] = []
        if description.guards is not None:
            plan = description.guards.plan
            positions = [self._leaf(path).number for path in plan.arguments.paths]
            conditions = copied(plan.conditions, self._operations, positions)
        if self._lowering.missing:
            raise NotNative(f"the symbol {next(iter(self._lowering.missing)).name} is not found in the arguments")
        plan_lines = self._plan(description, conditions)
        self.text = "\n".join([description.kernels, ARITHMETIC, VIEW, *plan_lines, *launches, ""])

    def _leaf(self, path: Path) -> Operation:
        return self._operations.leaf(self._paths.setdefault(path, len(self._paths)))

    def _numbers(self, wanted: Sequence[Expr]) -> int:
        """Put them behind the numbers; the place of the first."""
        place = len(self.numbers)
        self.numbers += [self._lowering.expression(each) for each in wanted]
        return place

    def _output(self, output: Output) -> tuple[int, object, int, int]:
        import torch

        match output:
            case Made(dtype, sizes, strides):
                return 0, getattr(torch, dtype), len(sizes), self._numbers([*sizes, *strides])
            case Given(place):
                return 1, None, 0, place
            case Again(place):
                return 2, None, 0, place
            case Fixed(value):
                return 3, value, 0, 0
            case Number(value):
                return 4, None, 0, self._numbers([value])

    def _launches(self, description: Description) -> list[str]:
        """The function that launches the kernels; kernels with the same numbers share them."""
        known: dict[tuple[Expr, ...], int] = {}
        lines = ["void program_run(void *const *buffers, const __INT64_TYPE__ *numbers) {"]
        for launch in description.launches:
            if launch.numbers not in known:
                known[launch.numbers] = self._numbers(launch.numbers)
            given = ", ".join([f"buffers[{place}]" for place in launch.buffers])
            lines.append(f"    {{ void *const given[] = {{{given}}};")
            lines.append(f"      {launch.kernel}(given, numbers + {known[launch.numbers]}); }}")
        return [*lines, "}"]

    def _plan(self, description: Description, conditions: Sequence[Operation]) -> list[str]:
        nodes = reachable([*conditions, *self.numbers])
        if len(nodes) > LARGEST:
            raise NotNative(f"{len(nodes)} operations are more than are worth compiling")
        paths = list(self._paths)
        leaves = [node for node in nodes if node.code == "leaf"]
        done = set(leaves)
        body = [
            *declarations(nodes),
            "long long scaled; (void)scaled;",
            *[f"{variable(leaf)} = {_read(paths[leaf.number], description)};" for leaf in leaves],
            *checked(conditions, done, "return 0;"),
            *computed(self.numbers, done),
            *[f"numbers[{place}] = {variable(number)};" for place, number in enumerate(self.numbers)],
            "return 1;",
        ]
        head = "int program_plan(const struct tensor *const *tensors, const __INT64_TYPE__ *integers,"
        # the label is where arithmetic goes that leaves 64 bits
        lines = ["    " + line for line in body]
        return [head, "                 __INT64_TYPE__ *numbers) {", *lines, "python:", "    return 0;", "}"]


def _read(path: Path, description: Description) -> str:
    """C that reads a number of the arguments."""
    if path is THREADS:
        return f"integers[{len(description.integers)}]"
    head, *steps = path
    names = [tensor.name for tensor in description.tensors]
    match steps:
        case [] if head in description.integers:
            return f"integers[{list(description.integers).index(str(head))}]"
        case [".shape" | ".stride()" as what, int(axis)] if head in names:
            place = names.index(str(head))
            if 0 <= axis < description.tensors[place].rank:
                return f"tensors[{place}]->{'sizes' if what == '.shape' else 'strides'}[{axis}]"
    raise NotNative(f"{path!r} is not read by programs")


THREADS: Final = ("torch.get_num_threads()",)
VIEW: Final = """struct tensor {
    char *data;
    __INT32_TYPE__ device[2], rank;
    struct { unsigned char code, bits; unsigned short lanes; } dtype;
    __INT64_TYPE__ *sizes, *strides;
    __UINT64_TYPE__ byte_offset;
};
"""
"""A tensor as the launcher has read it: DLPack's."""

__all__ = ["Description", "make_native"]
