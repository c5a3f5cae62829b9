"""Facts about the elements of a trace's tensors, so that what is read from equal tensors is one symbol.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x, z):
    ...     return torch.nn.functional.mse_loss(x[x > 0], z[x > 0])
    >>> variant = trace(program, (torch.randn(3), torch.randn(3)))
    >>> sum(symbol.kind == "unbacked" for symbol in variant.env.symbols.values())
    1
    >>> trace(lambda x, m: x[m].view(m.sum().item()), (torch.randn(3), torch.ones(3) > 0)).runtime_asserts
    ()

Value numbering: results of a deterministic operator on equal arguments are equal. A write gives everything that shares
the memory a new number; arguments and constants may share theirs, so a write to one of them counts for all. Operators
are numbered when somebody asks, so programs that read no data pay nothing.

    >>> def program(x):
    ...     return x > 0, x > 0, x.add_(1) > 0
    >>> captured = trace(program, (torch.randn(3),))
    >>> numbers = ValueNumbers(captured.recording)
    >>> first, second, third = [numbers.of(each) for each in captured.outputs]
    >>> first == second, first == third
    (True, False)

Facts come from the table `shapes.rules.element_facts`, through the operators that have made a tensor, when an element
is read or a size made of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch

from frontends.pytorch.recording.operations import (
    STATISTICS,
    Argument,
    Operation,
    Recording,
    bound,
    draws_numbers,
    is_custom,
    is_view,
    results_of,
    written_and_read,
)
from frontends.pytorch.symbolic.node import Node, TorchValue
from frontends.pytorch.symbolic.tensor import Result
from shapes.errors import Contradiction
from shapes.rules import Shape
from shapes.rules.element_facts import FACTS
from shapes.rules.elements import Elements
from shapes.symbolic.choices import Int, Truth, sym_sum
from shapes.symbolic.numbers import SymInt

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

aten: Final = torch.ops.aten
OPERATORS: Final = {
    "bincount": (aten.bincount.default,),
    "nonzero": (aten.nonzero.default,),
    "count_nonzero": (aten.count_nonzero.default, aten.count_nonzero.dim_IntList),
    "argsort": (aten.argsort.default, aten.argsort.stable),
    "sort": (aten.sort.default, aten.sort.stable),
    "topk": (aten.topk.default,),
    "argmax": (aten.argmax.default, aten.argmin.default),
    "arange": (aten.arange.default,),
    "randperm": (aten.randperm.default,),
    "searchsorted": (aten.searchsorted.Tensor, aten.searchsorted.Scalar),
    "bucketize": (aten.bucketize.Tensor, aten.bucketize.Scalar),
    "repeat_interleave": (aten.repeat_interleave.Tensor,),
    "sum": (aten.sum.default, aten.sum.dim_IntList),
    "cumsum": (aten.cumsum.default,),
    "select": (aten.select.int,),
    "same": (aten.clone.default, aten.alias.default, aten.detach.default, aten._to_copy.default),
    "reordered": (
        aten.view.default, aten.t.default, aten.permute.default, aten.unsqueeze.default, aten.flip.default,
        aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims,
    ),
}  # fmt: skip
"""The operators of the table by its names."""
NAMES: Final = {operator: name for name, overloads in OPERATORS.items() for operator in overloads}
UNIQUE: Final = (
    aten._unique2.default, aten.unique_consecutive.default, aten.unique_dim.default,
    aten.unique_dim_consecutive.default,
)  # fmt: skip
"""Operators that give the distinct elements, inverse indices and counts."""
INTEGERS: Final = (torch.int64, torch.int32)
MOST_READ: Final = 32
"""Elements of a tensor that are related one by one."""


@dataclass(frozen=True, slots=True)
class Producer:
    """An operator with the index of one of its results, and the numbers of its arguments as it read them."""

    operation: Operation
    index: int
    read: Mapping[Result, Hashable]


class ValueNumbers:
    """The value numbers of a recording, which may grow."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._done = 0
        self._numbers: dict[Result, int] = {}
        self._known: dict[Hashable, int] = {}
        self._writes: dict[Result, int] = {}
        """The last operator that has written to memory, by its owner."""
        self._made: set[Result] = set()
        """The owners of memory that the program has made."""
        self._outside = -1
        """The last operator that has written to other memory."""
        self._producers: dict[int, Producer] = {}

    def of(self, result: Result) -> Hashable:
        """The number of a result as its elements are now."""
        for place in range(self._done, len(self._recording.operations)):
            self._number(place, self._recording.operations[place])
        self._done = len(self._recording.operations)
        return self._now(result)

    def producer(self, number: Hashable) -> Producer | None:
        """The operator that has made the elements with a number; None if they were written, or given."""
        assert isinstance(number, tuple)
        return self._producers.get(number[0]) if number[1] == -1 else None

    def _now(self, result: Result) -> Hashable:
        number = self._numbers.get(result)
        if number is None:
            number = self._numbers[result] = self._known.setdefault(result, len(self._known))
        root = self._recording.base(result)
        return number, self._writes.get(root, -1) if root in self._made else self._outside

    def _number(self, place: int, operation: Operation) -> None:
        is_mutable = operation.target._schema.is_mutable
        if not is_mutable and not is_view(operation.target):
            self._made.update(results_of(operation.output))
        if is_mutable or operation.target in STATISTICS:
            written, read = written_and_read(operation)
            for each in written if is_mutable else read:
                root = self._recording.base(each)
                self._writes[root] = place
                if root not in self._made:
                    self._outside = place
        if is_mutable or is_custom(operation.target):
            return
        is_equal = is_deterministic(operation)
        arguments = [self._key(each) for each in operation.args]
        named = [(name, self._key(value)) for name, value in sorted(operation.kwargs.items())]
        for index, output in enumerate(operation.outputs):
            if isinstance(output, Result) and output not in self._numbers:
                key = (operation.target, *arguments, None, *named, index)
                number = self._known.setdefault(key if is_equal else output, len(self._known))
                self._numbers[output] = number
                if number not in self._producers:
                    operands = {each: self._now(each) for each in results_of(operation.arguments)}
                    self._producers[number] = Producer(operation, index, operands)

    def _key(self, value: Argument) -> Hashable:
        """An argument as a part of a key: -0.0 differs from 0.0, and True from 1."""
        if isinstance(value, Result):
            return self._now(value)
        if isinstance(value, list):
            return tuple([self._key(each) for each in value])
        return type(value), repr(value) if isinstance(value, float | complex) else value


def is_deterministic(operation: Operation) -> bool:
    """Return True if the results of one of torch's operators depend on its arguments alone."""
    target = operation.target
    # "empty": memory without values
    return is_view(target) or not (draws_numbers(target) or "empty" in target._schema.name)


class Contents:
    """The facts about elements by value number, and the numbers that were read."""

    def __init__(self, recording: Recording, env: ShapeEnv) -> None:
        self.env: Final = env
        self._numbers: Final = ValueNumbers(recording)
        self._known: Final[dict[Hashable, Elements]] = {}
        self.read: Final[dict[Hashable, TorchValue]] = {}
        """The numbers that the program has read, by value number of a tensor with one element."""
        self._parts: Final[dict[Hashable, dict[int, SymInt]]] = {}
        """The elements that the program has read, by value number of a tensor with one axis."""

    def number(self, result: Result) -> Hashable:
        """The value number of a result as its elements are now."""
        return self._numbers.of(result)

    def of(self, number: Hashable) -> Elements | None:
        """The facts about the elements with a number."""
        made = self._made(number)
        learned = self._known.get(number)
        return made if learned is None else learned if made is None else learned.with_more(made)

    def _made(self, number: Hashable) -> Elements | None:
        """The facts by the operator that has made the elements."""
        producer = self._numbers.producer(number)
        if producer is None:
            return None
        operation = producer.operation
        kind = operation.outputs[producer.index].metadata
        if kind is None or kind.dtype not in (*INTEGERS, torch.bool) or wraps(operation, kind.dtype):
            return None
        if operation.target in UNIQUE:
            found = self._distinct(producer)
        elif operation.target is aten.unbind.int:
            # of the last element something else may be known
            place = -1 if producer.index + 1 == self._length(operation.args[0], 0) else producer.index
            found = FACTS["select"](self._shape(operation.args[0], producer), (*operation.args[1:], 0)[0], place)
        elif operation.target in NAMES:
            found = self._ruled(NAMES[operation.target], producer)
        else:
            return None
        return found[producer.index] if isinstance(found, tuple) else found

    def _ruled(self, name: str, producer: Producer) -> Any:
        given: dict[str, Any] = {}
        target, args, kwargs = producer.operation.target, producer.operation.args, producer.operation.kwargs
        for argument, value in bound(target, args, kwargs):
            given["input" if argument.name == "self" else argument.name] = self._argument(value, producer)
        if name == "select" and isinstance(given["index"], int):
            is_last = given["index"] + 1 == self._length(args[0], given["dim"])
            given["index"] = -1 if is_last else given["index"]
        return FACTS[name](**{each: given[each] for each in parameters(name) if each in given})

    def _length(self, tensor: Result, dim: int) -> int | None:
        """The size of an axis, where the facts leave one number."""
        assert tensor.metadata is not None
        size = tensor.metadata.shape[dim]
        if isinstance(size, int):
            return size
        assert isinstance(size, SymInt)
        low, high = self.env.known.low(size.expr), self.env.known.high(size.expr)
        return low if low == high else None

    def _distinct(self, producer: Producer) -> Any:
        operation = producer.operation
        named = {argument.name: value for argument, value in bound(operation.target, operation.args, operation.kwargs)}
        shapes = [output.metadata.shape for output in operation.outputs]
        found: Any = FACTS["unique"](operation.args[0].metadata.shape, shapes[0], named.get("dim"))
        # results that the program has not asked for have no elements
        return tuple([None if shape == (0,) else each for shape, each in zip(shapes, found)])

    def _argument(self, value: Argument, producer: Producer) -> object:
        if isinstance(value, Result):
            return self._shape(value, producer)
        return value.value if isinstance(value, Node) else value

    def _shape(self, result: Result, producer: Producer) -> Shape:
        shape = result.metadata.shape if result.metadata is not None else Shape(())
        return Shape(shape, dtype=shape.dtype, elements=self.of(producer.read[result]))

    def learn(self, number: Hashable, elements: Elements) -> None:
        """Add facts about the elements with a number; those that are known stay."""
        before = self._known.get(number)
        self._known[number] = elements if before is None else before.with_more(elements)

    # ------------------------------------------------------------------ an element is read

    def value(self, number: Hashable) -> Int | None:
        """The only element of a tensor, where the facts have it."""
        found = self.of(number)
        return None if found is None else found.total

    def noted(self, number: Hashable, value: SymInt) -> None:
        """Note an element that the program reads, with the facts about it and its tensor."""
        found = self.of(number)
        if found is not None:
            self._bounded(value, found)
        producer = self._numbers.producer(number)
        while producer is not None and producer.operation.target in (aten.view.default, aten.alias.default):
            producer = self._numbers.producer(producer.read[producer.operation.args[0]])
        if producer is None:
            return
        operation = producer.operation
        if operation.target is aten.sum.default and operation.kwargs.get("dtype") in (None, torch.int64):
            self.learn(producer.read[operation.args[0]], Elements(total=value))
        elif operation.target in (aten.select.int, aten.unbind.int):
            self._part(producer, value)

    def _bounded(self, value: SymInt, found: Elements) -> None:
        if found.lo is not None:
            self._postulate(value >= found.lo)
        if found.hi is not None:
            self._postulate(value <= found.hi)

    def _postulate(self, fact: Truth) -> None:
        # an element is read that is not there, if they contradict each other: the run says so
        with suppress(Contradiction):
            self.env.postulate(fact)

    def _part(self, producer: Producer, value: SymInt) -> None:
        """Relate an element of a tensor with one axis to those that were read before."""
        source = producer.operation.args[0]
        place = producer.index if producer.operation.target is aten.unbind.int else producer.operation.args[2]
        length = self._length(source, 0) if len(source.metadata.shape) == 1 else None
        if length is None or not isinstance(place, int) or length > MOST_READ:
            return
        number = producer.read[source]
        parts = self._parts.setdefault(number, {})
        place %= length
        found = self.of(number) or Elements()
        for other, element in parts.items():
            if found.ordered:
                self._postulate(element <= value if other < place else value <= element)
            if found.distinct:
                self._postulate(element != value)
        parts[place] = value
        # other sums may be too large for their dtype
        if len(parts) == length and found.lo is not None and found.hi is not None:
            if found.total is not None:
                self._postulate(sym_sum(list(parts.values())) == found.total)
            else:
                self.learn(number, Elements(total=sym_sum(list(parts.values()))))


def wraps(operation: Operation, dtype: torch.dtype) -> bool:
    """Return True if a result may differ from the integers that the operator's facts are about."""
    if operation.target is aten._to_copy.default:
        source = operation.args[0].metadata.dtype
        return dtype is not source and source is not torch.bool and (source, dtype) != (torch.int32, torch.int64)
    is_sum = operation.target in (*OPERATORS["sum"], *OPERATORS["cumsum"])
    return is_sum and dtype is not torch.int64


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The arguments of an operator that the table reads."""
    return tuple(inspect.signature(FACTS[name]).parameters)
