"""One record per program whose sizes come from data: the function, its arguments, where it was met, what decides it.

The functions are this project's own; each has the structure of a program that somebody asked about in public. Plain
torch 2.13 refuses every one of them as a whole graph.

>>> add_checked = program("pytorch/pytorch#0", holds=[numbers(1, 2)], fails=[numbers(2, 1)])(lambda t: t + 1)
>>> PROGRAMS.pop("<lambda>").fails[0]()
(tensor([2, 1]),)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

Function = Callable[..., Any]
Arguments = Callable[[], tuple[torch.Tensor, ...]]
"""Makes fresh arguments, since a program may write to them."""


@dataclass(frozen=True)
class Program:
    """A program, with arguments on which its checks hold (`holds`) and on which one is false (`fails`).

    It is `undecided` where neither checks nor construction decide what it asks.
    """

    name: str
    reference: str
    function: Function
    holds: Sequence[Arguments]
    fails: Sequence[Arguments] = ()
    undecided: bool = False


PROGRAMS: Final[dict[str, Program]] = {}


def program(
    reference: str,
    *,
    holds: Sequence[Arguments],
    fails: Sequence[Arguments] = (),
    undecided: bool = False,
) -> Callable[[Function], Function]:
    """Enter the function under its name; its docstring is the fact that decides what it asks."""

    def enter(function: Function) -> Function:
        name = function.__name__
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, reference, function, tuple(holds), tuple(fails), undecided)
        return function

    return enter


def numbers(*values: int) -> Arguments:
    """One tensor of these integers."""
    return lambda: (torch.tensor(values),)


def with_numbers(*shape: int, of: Sequence[int]) -> Arguments:
    """A tensor of this shape filled with 0, 1, 2, ... and one of these integers."""
    return lambda: (ramp(*shape), torch.tensor(of))


def ramp(*shape: int) -> torch.Tensor:
    """The floats 0, 1, 2, ... in this shape."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)


def chosen(*flags: int) -> torch.Tensor:
    """A mask: true where the flag is 1."""
    return torch.tensor(flags) == 1
