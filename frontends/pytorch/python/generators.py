"""Generators of random numbers that a program brings along: its graph draws from them, and seeds none.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> numbers = torch.Generator()
    >>> def f(x):
    ...     return x + torch.randn(x.shape, generator=numbers.manual_seed(0))
    >>> try:
    ...     trace(f, (torch.randn(2),))
    ... except Exception as error:
    ...     print(error)  # doctest: +ELLIPSIS
    the function seeds `numbers`: the graph would go on drawing where the last call ended
      at:     `return x + torch.randn(x.shape, generator=numbers.manual_seed(0))`  (...:2 in f)
      fix:    seed before the call; fullgraph=False seeds on every call

A trace draws nothing, so a generator that is another afterwards was seeded. While it runs, each stands one number
further than any seed puts it: seeding it as it was seeded before is seen as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import torch
from torch.utils._python_dispatch import _disable_current_modes

from frontends.pytorch.errors import GraphBreak, refusal
from shapes.origin import Origin

MAKE: Final = "give it as an argument, or make it outside of the function; fullgraph=False makes one on every call"


@dataclass(frozen=True, slots=True)
class _Held:
    text: str
    name: str
    generator: torch.Generator
    state: torch.Tensor
    meanwhile: torch.Tensor
    """Its state while the trace runs."""


class Generators:
    """The generators that a program can reach while it is traced; `restore` gives them their states back."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        """By the address of what Python's object stands for, as operators get another object."""

    def hold(self, text: str, name: str, generator: torch.Generator) -> None:
        """Know a generator by its text, and the name to look for in the code."""
        if generator._cdata not in self._held:
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                state = generator.get_state()
                torch.empty(1, device=generator.device).uniform_(generator=generator)
                self._held[generator._cdata] = _Held(text, name, generator, state, generator.get_state())

    def restore(self) -> list[tuple[str, str]]:
        """Make all what they were; gives those that were seeded, by text and name."""
        seeded: list[tuple[str, str]] = []
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            for held in self._held.values():
                if not torch.equal(held.generator.get_state(), held.meanwhile):
                    seeded.append((held.text, held.name))
                held.generator.set_state(held.state)
        return seeded

    def check(self, drawn_from: Iterable[tuple[torch.Generator, Origin | None]]) -> None:
        """See that what a graph draws from, and where, was there before the trace.

        Raises:
            GraphBreak: the program makes it, or it is found in a place where none is looked for.
        """
        for generator, place in drawn_from:
            if generator._cdata not in self._held and generator._cdata != torch.default_generator._cdata:
                what = "a generator of random numbers that the call makes: the graph would draw from this one again"
                raise GraphBreak(refusal(what, MAKE, place))
