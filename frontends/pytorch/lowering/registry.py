"""Registry of lowerings: a function from values to values, for one operator or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from backends.decisions.questions import Choice
from backends.loops.affine import packed
from backends.loops.kernels import Buffer
from backends.loops.nodes import Memory, Sizes
from backends.loops.program import Call, Program
from backends.loops.tensors import Expressions
from backends.loops.values import Value
from backends.program.runtime_functions import Required
from frontends.pytorch.recording.operations import Operation
from frontends.pytorch.symbolic.metadata import Metadata, name_of
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Expr

Number: TypeAlias = int | float | bool | Expr
Lowered: TypeAlias = Value | list[Value | None]
Argument: TypeAlias = Value | Number
Size: TypeAlias = Value | Expr | int
"""A size among the arguments; a value if it is a float's or a truth of the run."""
Lowering: TypeAlias = Callable[..., Lowered]
Rule = TypeVar("Rule", bound=Lowering)

LOWERINGS: Final[dict[object, Lowering]] = {}
VIEWS: Final[set[Lowering]] = set()
"""Lowerings of views, which are independent of the dtype."""
BINDING: Final[set[Lowering]] = set()
"""Lowerings that emit steps which tell the sizes of their results, where only the run knows them."""


class Declined(Exception):
    """A lowering declines this call: the operator is called."""


def lowering(*operators: object, views: bool = False, binds: bool = False) -> Callable[[Rule], Rule]:
    """Register a function as the lowering of these operators.

    It receives the site and the arguments, tensors as values and numbers as numbers or sizes, and may raise `Declined`.
    """

    def register(function: Rule) -> Rule:
        for operator in operators:
            LOWERINGS[operator] = function
        if views:
            VIEWS.add(function)
        if binds:
            BINDING.add(function)
        return function

    return register


class Site:
    """The context of one operator's lowering: its predicted results.

    Attributes:
        kinds: the metadata of each result; None for one that is no tensor.
        memory: materializes an argument with any strides.
        is_part: True if it is a part of a decomposed operator.
    """

    def __init__(
        self,
        program: Program,
        operation: Operation,
        kinds: list[Metadata | None],
        memory: Callable[[Result], Memory],
        *,
        is_part: bool = False,
    ) -> None:
        self.is_part = is_part
        self.program = program
        self.memory = memory
        self.build = program.build
        self.operation = operation
        self.kinds = kinds

    @property
    def name(self) -> str:
        """The operator's name, without that of its overload."""
        return self.operation.target.overloadpacket.__name__

    @property
    def kind(self) -> Metadata:
        found = self.kinds[0]
        if found is None:
            raise Declined
        return found

    @property
    def dtype(self) -> str:
        return name_of(self.kind.dtype)

    @property
    def sizes(self) -> Sizes:
        return self.sizes_of(self.kind)

    def sizes_of(self, kind: Metadata) -> Sizes:
        return sizes_of(kind.sizes, self.build)

    def new(self) -> Value:
        """Allocate memory for the result, to be assigned."""
        strides = sizes_of(self.kind.strides, self.build)
        memory = self.build.memory(self.program.buffer(self.dtype, self.sizes, strides))
        return Value(self.build, memory, self.sizes)

    def assign(self, target: Value, value: Value) -> None:
        """Store elements to memory."""
        assert target.memory is not None
        self.program.assign(target.memory, value.cast(target.dtype).expanded(target.sizes).tensor)

    def stored(self, x: Value) -> Memory:
        """The memory of a tensor: new, contiguous memory if it has none."""
        return x.memory or self.program.stored(x.tensor, packed(x.sizes), x.sizes)

    def called(self, target: Callable[..., object], kind: Metadata) -> Value:
        """A tensor computed by a call that receives its sizes and strides."""
        sizes, strides = self.sizes_of(kind), sizes_of(kind.strides, self.build)
        buffer = self.program.buffer(name_of(kind.dtype), sizes, strides)
        self.program.steps.append(Call(target, (*sizes, *strides), {}, (buffer,), has_layout=True))
        return Value(self.build, self.build.memory(buffer), sizes)

    def require(self, holds: Value, error: type[Exception], message: str, *, guards: tuple[Buffer, ...] = ()) -> None:
        """Stop the run if an element of this is false; before kernels read what that guards."""
        found = holds.reduce("all", range(holds.rank))
        stored = self.program.stored(found.tensor, ())
        self.program.steps.append(Call(Required(error, message), (stored,), {}, (), is_check=True, guards=guards))

    def full(self, value: Number, dtype: str | None = None, sizes: Sizes | None = None) -> Value:
        """A constant tensor."""
        sizes = self.sizes if sizes is None else sizes
        empty = Value(self.build, self.build.number(0, "int64"), sizes)
        return empty.number(value, self.dtype if dtype is None else dtype)

    def iota(self, axis: int, sizes: Sizes | None = None) -> Value:
        """The index along an axis."""
        sizes = self.sizes if sizes is None else sizes
        return Value(self.build, self.build.iota(sizes, axis % len(sizes)), sizes)

    def operand(self, x: Value | Number, dtype: str | None = None, sizes: Sizes | None = None) -> Value:
        """An argument, broadcast to the result, in its dtype."""
        sizes = self.sizes if sizes is None else sizes
        dtype = self.dtype if dtype is None else dtype
        return x.cast(dtype).expanded(sizes) if isinstance(x, Value) else self.full(x, dtype, sizes)

    def size(self, given: Size) -> Expr:
        """A size among the arguments."""
        if isinstance(given, Value):
            raise Declined
        return self.build.lift(given)

    def is_nonnegative(
        self, size: Expr, yes: str = "a kernel", otherwise: str = "the operator of torch"
    ) -> bool | None:
        """Decide whether a size is at least 0, and return the respective value."""
        if size.is_constant:
            return size.constant >= 0
        return self.build.decisions.holds("sign", self.build.interner.ge(size, 0), Choice(yes, otherwise))


def sizes_of(numbers: tuple[TorchValue, ...], build: Expressions) -> Sizes:
    """Sizes or strides of metadata as expressions."""
    return tuple(map(build.lift, symbolic_sizes_of(numbers, build)))


def symbolic_sizes_of(numbers: tuple[TorchValue, ...], build: Expressions) -> Sizes:
    """The same without replacing symbols by known constants, for reading symbols off a tensor."""
    return tuple([build.interner.constant(size) if type(size) is int else size.node.value.expr for size in numbers])


def axes_of(axes: object, rank: int) -> tuple[int, ...]:
    """Normalize axes to nonnegative ones; none mean all."""
    if axes is None or (isinstance(axes, list) and not axes):
        return tuple(range(rank))
    listed = axes if isinstance(axes, list) else [axes]
    known = [axis for axis in listed if type(axis) is int]
    if len(known) < len(listed):
        raise Declined
    return tuple(sorted([axis % rank for axis in known])) if rank else ()


def in_order(operation: Operation) -> tuple[list[object], dict[str, object]]:
    """Convert an operator's arguments to positional ones where possible."""
    args, named = list(operation.args), dict(operation.kwargs)
    for place, argument in enumerate(operation.target._schema.arguments):
        if argument.kwarg_only or not named:
            break
        if place >= len(args):
            if argument.name not in named and not argument.has_default_value():
                break
            args.append(named.pop(argument.name, argument.default_value))
    return args, named
