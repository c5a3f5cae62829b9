"""Programs that are run by eager torch and compiled, and how they are declared.

    @program("n m", "m")
    def scaled(x, y):
        return x * y

Each argument is given by the names of its sizes, a dtype before a colon where it is not float32. A program with state
is made anew for each way to run it:

    @stateful("n")
    def counter():
        seen = []

        def step(x):
            seen.append(x.shape[0])
            return x * len(seen)

        return step, seen
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

SIZES = ({"n": 3, "m": 4, "k": 2}, {"n": 5, "m": 2, "k": 3}, {"n": 2, "m": 7, "k": 6})
"""The first is traced; the others are seen later. Programs that want a size of 1 say so by the digit."""


@dataclass(frozen=True)
class Case:
    """A program and its arguments.

    Attributes:
        make: gives the function, fresh, and what else is compared after every call.
        inputs: each argument by its dtype and sizes.
        learned: True if gradients are compared as well.
        thorough: True if it is for the thorough tier.
    """

    name: str
    make: Callable[[], tuple[Callable[..., object], object]]
    inputs: tuple[str, ...]
    learned: bool = True
    thorough: bool = False

    def arguments(self, sizes: Mapping[str, int], seed: int) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [argument(spelled, sizes, generator) for spelled in self.inputs]


def argument(spelled: str, sizes: Mapping[str, int], generator: torch.Generator) -> torch.Tensor:
    """A tensor of such sizes: normal numbers, or small whole ones."""
    name, _, words = spelled.rpartition(":")
    dtype = getattr(torch, name or "float32")
    shape = [sizes[word] if word in sizes else int(word) for word in words.split()]
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 5, shape, generator=generator).to(dtype)


class Family:
    """The programs of one file, declared by decorators."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cases: list[Case] = []

    def program(
        self, *inputs: str, learned: bool = True, thorough: bool = False
    ) -> Callable[[Callable[..., object]], Callable[..., object]]:
        """A function without state of its own."""

        def declare(function: Callable[..., object]) -> Callable[..., object]:
            self.cases.append(Case(self._title(function), lambda: (function, None), inputs, learned, thorough))
            return function

        return declare

    def stateful(
        self, *inputs: str, learned: bool = True, thorough: bool = False
    ) -> Callable[[Callable[[], tuple[Callable[..., object], object]]], object]:
        """A function that makes the program, and the state that a call may change."""

        def declare(make: Callable[[], tuple[Callable[..., object], object]]) -> object:
            self.cases.append(Case(self._title(make), make, inputs, learned, thorough))
            return make

        return declare

    def table(
        self,
        programs: Mapping[str, Callable[..., object]],
        *inputs: str,
        learned: bool = True,
        thorough: bool = False,
    ) -> None:
        """Short programs with the same arguments."""
        for name, function in programs.items():
            make = lambda function=function: (function, None)  # noqa: E731
            self.cases.append(Case(f"{self.name}-{name}", make, inputs, learned, thorough))

    def _title(self, function: Callable[..., object]) -> str:
        return f"{self.name}-{function.__name__.replace('_', ' ')}"


def named(families: Sequence[Family]) -> dict[str, Case]:
    """All programs by their names, of which none is there twice."""
    cases = [case for family in families for case in family.cases]
    found = {case.name: case for case in cases}
    assert len(found) == len(cases)
    return found
