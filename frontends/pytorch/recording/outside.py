"""Numbers that a program takes out of tensors that it is not given: a buffer, a closure's, a global.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> rate = torch.tensor(0.25)
    >>> f = compile(lambda x: x * 2 if rate < 0.5 else x)
    >>> f(torch.ones(2)), f.fallbacks
    (tensor([2., 2.]), [])
    >>> f(torch.ones(2)), rate.fill_(1.0), f(torch.ones(2))
    (tensor([2., 2.]), tensor(1.), tensor([1., 1.]))

A number that only torch uses is one of the run. Where the program needs it, the function is traced once more with the
elements of such tensors as they are, and the variant relies on them: they are compared at each call, as what writes to
memory need not tell of it.
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
"""Of a tensor with more elements than these none is a number of a trace."""


class Outside:
    """What a trace does with the elements of tensors that the program is not given.

    Attributes:
        are_known: whether they are numbers of this trace.
        is_asked: whether the program has asked for one that was not.
        tensors: those whose elements the trace relies on.
    """

    def __init__(self, *, are_known: bool = False) -> None:
        self.are_known = are_known
        self.is_asked = False
        self.tensors: list[torch.Tensor] = []
        self._sources: dict[Result, frozenset[Result]] = {}

    def begin(self, result: Result) -> None:
        """A tensor from outside is known from here on."""
        self._sources[result] = frozenset([result])

    def follow(self, made: Sequence[Result], given: Sequence[Result]) -> None:
        """What is made of known ones is known by these."""
        found = frozenset().union(*[self._sources.get(each, frozenset()) for each in given])
        for each in made:
            self._sources[each] = found

    def read(self, result: Result) -> None:
        """The program takes an element of what is known."""
        for source in self._sources.get(result, ()):
            if source.constant is not None and all(source.constant is not each for each in self.tensors):
                self.tensors.append(source.constant)


def is_small(tensor: torch.Tensor) -> bool:
    """Whether the elements of a tensor may be numbers of a trace, as it costs little to compare them at each call."""
    return tensor.device.type == "cpu" and tensor.numel() <= MOST


def is_of_outside(recording: Recording, tensor: torch.Tensor) -> bool:
    """Whether a tensor is made of small ones that the program is not given, before anything was written to, and of
    nothing else."""
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


__all__ = ["Outside", "is_of_outside", "is_small", "writes"]
