"""A whole program for backends: its inputs, its steps in order, its outputs. Lowerings build it.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> y = program.stored(program.build.apply("exp", x), (s, program.build.one))
    >>> program.outputs.append(y)
    >>> program.steps
    [made0[s*i0 + i1] = float32[b, s]]

A step assigns a tensor expression to memory, or calls an operator that is not lowered to loops; such a call takes
memory, sizes and plain values. Expressions are materialized only where an output, a call or the scheduler
(`backends.loops.schedule`) needs them in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Protocol, TypeAlias

from backends.decisions.questions import Decisions
from backends.loops.affine import Affine, is_one
from backends.loops.kernels import Buffer
from backends.loops.nodes import CollapseAxes, Concat, Memory, Number, Reduce, Sizes, Tensor, descend
from backends.loops.tensors import Expressions
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Operator(Protocol):
    """An operator of the frontend's framework, or a function in the place of one."""

    # whatever it takes is the framework's
    def __call__(self, *arguments: Any, **named: Any) -> object: ...  # type: ignore[explicit-any]


@dataclass(eq=False, slots=True)
class Assign:
    """The assignment of a tensor to a buffer: the offset of each element, for each index within `sizes`."""

    buffer: Buffer
    sizes: Sizes
    offset: Affine
    value: Tensor
    origin: str = ""

    def __repr__(self) -> str:
        return f"{self.buffer.name}[{self.offset}] = {self.value}"


@dataclass(eq=False, slots=True)
class Call:
    """An operator that is not lowered: called as it is.

    Attributes:
        arguments: nested lists of `Memory`, `Expr` and plain values.
        results: the buffers that it allocates, in order; None for a result that is unused. A result that is a number
            is the symbol that stands for it.
        is_list: whether what it returns is a list or tuple of results.
        aliases: the argument's buffer that the results share memory with.
        writes: the buffers of arguments that it changes.
        has_layout: whether results are known to have the predicted strides; otherwise they are compared at run time.
        is_fresh: whether results are known not to alias arguments, as those with the predicted layout.
        into: the same operator where it writes its one result to memory that is given as `out`, which no argument
            shares.
        checked: for an operator whose results are predicted by a user's rule: takes the results, the tensors that it
            was given, and the predicted sizes and strides of each result, and returns the results.
        is_check: whether it does nothing but raise an error if its one argument, a truth value, is false.
        guards: the buffers that it has checked the elements of: kernels that read them and are behind it in the
            program run only if it returns.
    """

    target: Operator
    arguments: tuple[Argument, ...]
    named: dict[str, Argument]
    results: tuple[Buffer | Atom | None, ...]
    is_list: bool = False
    aliases: Buffer | None = None
    writes: tuple[Buffer, ...] = ()
    has_layout: bool = False
    is_fresh: bool = False
    into: Operator | None = None
    checked: Operator | None = None
    origin: str = ""
    is_check: bool = False
    guards: tuple[Buffer, ...] = ()

    def __repr__(self) -> str:
        made = ", ".join([each.name if each is not None else "_" for each in self.results])
        called = self.target.__name__ if isinstance(self.target, FunctionType) else self.target
        return f"{made} = {called}({', '.join(map(repr, self.arguments))})"


@dataclass(eq=False, slots=True)
class Check:
    """A run-time assertion on sizes, with the message and class of its error."""

    condition: Prop
    message: str
    error: type[Exception] = RuntimeError


@dataclass(eq=False, slots=True)
class Bind:
    """A data-dependent symbol is bound to a size of a tensor that exists by now."""

    symbol: Atom
    buffer: Buffer
    axis: int


Argument: TypeAlias = object
Step: TypeAlias = Assign | Call | Check | Bind


@dataclass(eq=False)
class Program:
    """A program of kernels and operators, which a backend runs.

    Attributes:
        inputs: the tensors that it is given, in order.
        numbers: the symbols that are scalar arguments behind them.
        constants: tensors that are always the same, with what they are in the frontend's own terms.
        outputs: memory, sizes, or plain values.
        apart: the outputs, by number, that are distinct tensors though they alias an input or another output; with
            each the number of the output where the same tensor is returned first.
    """

    decisions: Decisions
    inputs: list[Buffer] = field(default_factory=list)
    numbers: list[Atom] = field(default_factory=list)
    constants: list[tuple[Buffer, object]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: list[Memory | Expr | object] = field(default_factory=list)
    apart: dict[int, int] = field(default_factory=dict)
    _made: int = 0

    def __post_init__(self) -> None:
        self.build = Expressions(self.decisions)

    def input(self, name: str, dtype: str, sizes: Sizes, strides: Sizes) -> Memory:
        """One more tensor that the program is given."""
        self.inputs.append(Buffer(name, dtype, sizes, strides, "input", len(self.inputs)))
        return self.build.memory(self.inputs[-1])

    def constant(self, value: object, dtype: str, sizes: Sizes, strides: Sizes) -> Memory:
        """A tensor that is always the same."""
        place = len(self.constants)
        buffer = Buffer(f"constant{place}", dtype, sizes, strides, "constant", place)
        self.constants.append((buffer, value))
        return self.build.memory(buffer)

    def buffer(self, dtype: str, sizes: Sizes, strides: Sizes) -> Buffer:
        """New memory."""
        self._made += 1
        return Buffer(f"made{self._made - 1}", dtype, sizes, strides)

    def stored(self, value: Tensor, strides: Sequence[Expr], sizes: Sizes | None = None) -> Memory:
        """A tensor materialized with these strides: it is assigned to a buffer of its own. A number has no `sizes`."""
        buffer = self.buffer(value.dtype, value.sizes if sizes is None else sizes, tuple(strides))
        memory = self.build.memory(buffer)
        self.assign(memory, value)
        return memory

    def assign(self, memory: Memory, value: Tensor) -> None:
        """The elements of `memory` become those of a tensor of its sizes, now."""
        value = self.build.expand(value, memory.sizes)
        if isinstance(value, CollapseAxes):
            inside = self.build.split(memory, value.runs, value.source.sizes)
            assert isinstance(inside, Memory)
            memory, value = inside, value.source
        if isinstance(value, Concat) and not self._is_one_loop(memory, value):
            for place, piece in enumerate(value.pieces):
                self.assign(self._slice(memory, value, place), piece)
            return
        self.steps.append(Assign(memory.buffer, memory.sizes, memory.offset, value))

    def _is_one_loop(self, memory: Memory, value: Concat) -> bool:
        """Return True if a concatenation is best one kernel: its pieces meet within rows, or some of them are numbers;
        and none has a reduction inside, which would have to be materialized.
        """
        along = memory.offset.coefficient(value.axis)
        within = along is not None and is_one(along) or any(isinstance(piece, Number) for piece in value.pieces)
        return within and not any(isinstance(each, Reduce | CollapseAxes) for each in descend(value.pieces))

    def _slice(self, memory: Memory, value: Concat, place: int) -> Memory:
        """The slice of memory that a piece is assigned to."""
        bounds = (self.build.zero, *value.bounds, value.sizes[value.axis])
        first, last = bounds[place], bounds[place + 1]
        found = self.build.slice(memory, value.axis, first, 1, last - first)
        assert isinstance(found, Memory)
        return found
