"""Elements of captured tensors that a program reads as numbers: of a buffer, a closure's, a global's tensor.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> rate = torch.tensor(0.25)
    >>> f = compile(lambda x: x * 2 if rate < 0.5 else x)
    >>> f(torch.ones(2)), f.fallbacks
    (tensor([2., 2.]), [])
    >>> f(torch.ones(2)), rate.fill_(1.0), f(torch.ones(2))
    (tensor([2., 2.]), tensor(1.), tensor([1., 1.]))

A number that only torch uses is unbacked. If the program needs its value, the function is traced again with the
elements of such tensors as constants. The variant then compares them at each call, since writes to memory are not
observable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.recording.operations import STATISTICS, Operation, draws_numbers, results_of
from frontends.pytorch.symbolic.tensor import Result, Traced

if TYPE_CHECKING:
    from frontends.pytorch.recording.operations import Recording

MOST: Final = 64
"""Elements of larger tensors are never constants of a trace."""


class Outside:
    """A trace's treatment of the elements of captured tensors.

    Attributes:
        are_known: whether they are constants of this trace.
        is_asked: whether the program has read one that was not.
        tensors: those whose elements are preconditions.
    """

    def __init__(self, *, are_known: bool = False) -> None:
        self.are_known = are_known
        self.is_asked = False
        self.tensors: list[torch.Tensor] = []
        self._sources: dict[Result, frozenset[Result]] = {}

    def begin(self, result: Result) -> None:
        """Start tracking a captured tensor."""
        self._sources[result] = frozenset([result])

    def follow(self, made: Sequence[Result], given: Sequence[Result]) -> None:
        """An operator's result has the sources of its arguments."""
        found = frozenset().union(*[self._sources.get(each, frozenset()) for each in given])
        for each in made:
            self._sources[each] = found

    def read(self, result: Result) -> None:
        """The program reads an element of a tracked tensor."""
        for source in self._sources.get(result, ()):
            if source.constant is not None and all(source.constant is not each for each in self.tensors):
                self.tensors.append(source.constant)


def is_small(tensor: torch.Tensor) -> bool:
    """Whether a tensor is small enough to compare its elements at each call."""
    return tensor.device.type == "cpu" and tensor.numel() <= MOST


def is_of_outside(recording: Recording, tensor: torch.Tensor) -> bool:
    """Whether a tensor is computed only from small captured tensors, before any write."""
    if not isinstance(tensor, Traced):
        return is_small(tensor)
    made: dict[Result, Operation] = {}
    for operation in recording.operations:
        if writes(operation):
            return False
        made.update(dict.fromkeys(results_of(operation.output), operation))
    waiting, seen = [tensor.result], {tensor.result}
    while waiting:
        result = waiting.pop()
        if result.constant is not None:
            if not is_small(result.constant):
                return False
            continue
        maker = made.get(result)
        if maker is None or draws_numbers(maker.target):
            return False
        for each in results_of(maker.arguments):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return True


def writes(operation: Operation) -> bool:
    """Whether an operator may write to a tensor."""
    target = operation.target
    if not isinstance(target, torch._ops.OpOverload):
        return True
    return target._schema.is_mutable or bool(target in STATISTICS and operation.args[STATISTICS[target]])
