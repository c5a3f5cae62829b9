"""The trace as a list of operations: operators in program order, with arguments and results.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> recording = trace(lambda x: (x + 1).relu(), (torch.ones(3),)).recording
    >>> for operation in recording.operations:
    ...     print(operation.target, operation.args, operation.output)
    aten.add.Tensor (%0, 1) %1
    aten.relu.default (%1,) %2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch

from frontends.pytorch.symbolic.tensor import Result

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.metadata import Metadata
    from shapes.origin import Origin
    from shapes.symbolic.numbers import SymBool, SymInt

STATISTICS: Final = {
    torch.ops.aten.native_batch_norm.default: 5,
    torch.ops.aten._native_batch_norm_legit.default: 5,
}
"""Operators that update running statistics if the argument at this index is true, whatever their schema says."""

Argument: TypeAlias = Any
"""A `Result`, a `Node`, a constant or a list of these: which, the schema of torch's operator says."""
Target: TypeAlias = Any
"""An operator, `torch._ops.OpOverload`."""
NATIVE: Final = frozenset(("aten", "prim", "prims", "quantized", "rngprims", "inductor", "c10d", "_c10d_functional"))
"""The namespaces of torch's operators."""
EXCHANGES: Final = frozenset((
    *("_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "c10d", "_dtensor", "symm_mem"),
))  # fmt: skip
"""Namespaces of operators that exchange data with other ranks."""


@dataclass(slots=True)
class Operation:
    """One executed operator of the program.

    Its `output` is a result, an unbacked number, or a list of these.
    """

    target: Target
    args: tuple[Argument, ...]
    kwargs: dict[str, Argument]
    output: Argument
    backward: bool = False
    origin: Origin | None = None
    is_of_function: bool = False
    """True in the backward of a program's own `autograd.Function` with several results."""

    @property
    def arguments(self) -> list[Argument]:
        return [*self.args, *self.kwargs.values()]

    @property
    def outputs(self) -> list[Argument]:
        return listed(self.output)


def has_effects(operation: Operation) -> bool:
    """Return True if an operator has side effects."""
    schema = operation.target._schema
    return schema.is_mutable or not schema.returns or is_exchange(operation.target) or is_random(operation)


def is_exchange(target: torch._ops.OpOverload) -> bool:
    """Return True if an operator exchanges data with other ranks, which wait for it, used or not."""
    return target.namespace in EXCHANGES


def is_custom(target: torch._ops.OpOverload) -> bool:
    """Return True if an operator is not torch's: its predicted results are checked at run time."""
    return target.namespace not in NATIVE


def is_view(target: torch._ops.OpOverload) -> bool:
    """Return True if an operator returns views of its first argument."""
    returns = target._schema.returns
    return any(each.alias_info is not None and not each.alias_info.is_write for each in returns)


@cache
def draws_numbers(func: torch._ops.OpOverload) -> bool:
    """Return True if one of torch's operators draws random numbers."""
    return torch.Tag.nondeterministic_seeded in func.tags


def is_random(operation: Operation) -> bool:
    """Return True if an operator draws random numbers; with dropout of probability 0, a recurrent layer does not."""
    if not draws_numbers(operation.target):
        return False
    given = bound(operation.target, operation.args, operation.kwargs)
    return not any(argument.name == "dropout" and value == 0.0 for argument, value in given)


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that may be a view if one of these sizes is 1, or if a condition in `apart` is false; or a conjugate or
    negative, which is a view with a mark in eager torch."""

    source: Result
    made: Result
    origin: Origin | None
    sizes: tuple[SymInt, ...] = ()
    apart: tuple[SymBool, ...] = ()
    is_marked: bool = False


@dataclass(slots=True)
class Recording:
    """A program as a list of operators."""

    operations: list[Operation] = field(default_factory=list)
    constants: list[Result] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    """Copies that are views in eager torch, or may be."""
    overlapping: list[str] = field(default_factory=list)
    """Mutations that may overlap their operands: these have no functional form."""
    count: int = 0
    _bases: dict[Result, Result] = field(default_factory=dict)
    _followed: int = 0

    def result(self, metadata: Metadata | None, constant: torch.Tensor | None = None) -> Result:
        self.count += 1
        return Result(self.count - 1, metadata, constant)

    def changed(self) -> set[Result]:
        """The tensors whose memory or sizes are changed in place: none of them is a view that the program made."""
        mutable = [each for each in self.operations if each.target._schema.is_mutable]
        return {self.base(result) for each in mutable for result in written_and_read(each)[0]}

    def base(self, result: Result) -> Result:
        """The tensor that owns the memory of a result: another one if that is a view."""
        for operation in self.operations[self._followed :]:
            target = operation.target
            if is_view(target) or target is torch.ops.aten._unsafe_view.default:
                source: Result = operation.args[0]
                for made in results_of(operation.output):
                    self._bases[made] = self._bases.get(source, source)
        self._followed = len(self.operations)
        return self._bases.get(result, result)


def written_and_read(operation: Operation) -> tuple[list[Result], list[Result]]:
    """The tensors that an operator mutates, and its other tensors."""
    written: list[Result] = []
    read: list[Result] = []
    for argument, value in bound(operation.target, operation.args, operation.kwargs):
        (written if is_written(argument) else read).extend(results_of(value))
    return written, read


def is_written(argument: torch._C.Argument) -> bool:
    """Return True if an operator writes to an argument, by its schema."""
    return argument.alias_info is not None and argument.alias_info.is_write


def bound(
    func: torch._ops.OpOverload, args: Iterable[Argument], kwargs: Mapping[str, Argument]
) -> Iterator[tuple[torch._C.Argument, Argument]]:
    """The arguments that an operator is given, each with its declaration in the schema."""
    declared = func._schema.arguments
    given = {**dict(zip([argument.name for argument in declared], args)), **kwargs}
    return ((argument, given[argument.name]) for argument in declared if argument.name in given)


def listed(value: Argument) -> list[Argument]:
    return value if isinstance(value, list) else [value]


def flat(value: object) -> Iterator[object]:
    """A value, or what is in it: lists and tuples are flattened."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def results_of(value: object) -> Iterator[Result]:
    for each in flat(value):
        if isinstance(each, Result):
            yield each


def replaced(value: Argument, fresh: dict[Result, Result]) -> Argument:
    """An argument with results substituted."""
    if isinstance(value, Result):
        return fresh.get(value, value)
    if isinstance(value, list):
        return [replaced(item, fresh) for item in value]
    return value
