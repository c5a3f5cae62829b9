"""Value numbering: tensors of a trace that hold equal elements, whatever the data.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.recording.value_numbers import ValueNumbers
    >>> def program(x):
    ...     return x > 0, x > 0, x.add_(1) > 0
    >>> captured = trace(program, (torch.randn(3),))
    >>> numbers = ValueNumbers(captured.recording)
    >>> first, second, third = [numbers.of(each) for each in captured.outputs]
    >>> first == second, first == third
    (True, False)

Results of a deterministic operator on equal arguments are equal. A write gives everything that shares the memory a new
number; arguments and constants may share theirs, so a write to one of them counts for all. Operators are numbered when
somebody asks, so programs that read no data pay nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from frontends.pytorch.recording.operations import (
    STATISTICS,
    Argument,
    Operation,
    Recording,
    draws_numbers,
    is_custom,
    is_view,
    results_of,
    written_and_read,
)
from frontends.pytorch.symbolic.tensor import Result


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
        """By the owner of memory, the last operator that has written to it."""
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
