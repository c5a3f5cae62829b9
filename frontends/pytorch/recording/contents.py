"""Facts about the elements of a trace's tensors, so that what is read from equal tensors is one symbol.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x, z):
    ...     return torch.nn.functional.mse_loss(x[x > 0], z[x > 0])
    >>> variant = trace(program, (torch.randn(3), torch.randn(3)))
    >>> [name for name, symbol in variant.env.symbols.items() if symbol.kind == "unbacked"]
    ['u0']
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from frontends.pytorch.recording.operations import Recording
from frontends.pytorch.recording.value_numbers import ValueNumbers
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Result
from shapes.rules.elements import Elements


class Contents:
    """The facts about elements by value number, and the numbers that were read."""

    def __init__(self, recording: Recording) -> None:
        self._numbers: Final = ValueNumbers(recording)
        self._known: Final[dict[Hashable, Elements]] = {}
        self.read: Final[dict[Hashable, TorchValue]] = {}
        """By value number of a tensor with one element, the number that the program has read."""

    def number(self, result: Result) -> Hashable:
        """The value number of a result as its elements are now."""
        return self._numbers.of(result)

    def of(self, result: Result) -> Elements | None:
        """The facts about a result's elements."""
        return self._known.get(self.number(result))

    def learn(self, result: Result, elements: Elements) -> None:
        """Add facts about a result's elements; those that are known stay."""
        number = self.number(result)
        before = self._known.get(number)
        self._known[number] = elements if before is None else before.with_more(elements)
