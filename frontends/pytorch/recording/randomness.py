"""Random numbers that are drawn again: a checkpoint that recomputes its block finds those of the first time.

    >>> import torch
    >>> from torch.utils.checkpoint import checkpoint
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     x = x.detach().requires_grad_()
    ...     y = checkpoint(torch.dropout, x, 0.5, True, use_reentrant=False)
    ...     return y.detach(), torch.autograd.grad(y.sum(), x)[0]
    >>> y, gradient = trace(program, (torch.ones(8),)).graph(torch.ones(8))
    >>> bool((y == gradient).all())
    True

Torch saves the generator's state before a block and restores it to compute the block again. In a trace nothing is
drawn: a state is a place in the order of the draws, and going back to it gives the numbers that came from there. The
graph draws once, in eager's order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch

from frontends.pytorch.errors import TraceError
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace, Traced

aten: Final = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Draw:
    """One operator that drew numbers, and what came."""

    func: object
    kinds: tuple[Metadata, ...]
    values: tuple[Traced, ...]


class Draws:
    """The draws since a state was saved, and where the program stands among them."""

    def __init__(self) -> None:
        self.made: list[Draw] = []
        self.place = 0
        self._states: dict[int, tuple[torch.Tensor, int]] = {}

    def save(self, state: torch.Tensor) -> None:
        """A state of the generator was taken here."""
        self._states[id(state)] = (state, self.place)

    def restore(self, state: torch.Tensor) -> None:
        """The generator is as it was.

        Raises:
            TraceError: the state is from before the trace.
        """
        if id(state) not in self._states:
            raise TraceError("the state of the random numbers is set to one from outside: set it before the call")
        self.place = self._states[id(state)][1]


def drawn(trace: Trace, draws: Draws, func: torch._ops.OpOverload, args, run: Callable[[], object]) -> object:
    """The numbers that an operator draws: new ones, or those that it drew when the program was here before."""
    if draws.place < len(draws.made):
        return _again(trace, draws, func, args)
    outcome = run()
    tensors = outcome if isinstance(outcome, tuple | list) else [outcome]
    # what is drawn may be changed in place afterwards
    values = tuple([trace.operator(aten.clone.default, (tensor,), {}) for tensor in tensors])
    draws.made.append(Draw(func, tuple([value.metadata for value in values]), values))
    draws.place += 1
    return outcome


def _again(trace: Trace, draws: Draws, func: torch._ops.OpOverload, args) -> object:
    draw = draws.made[draws.place]
    draws.place += 1
    if draw.func is not func or (func._schema.is_mutable and args[0].metadata is not draw.kinds[0]):
        raise TraceError(f"{func}: a block that is computed again draws other random numbers than the first time")
    if func._schema.is_mutable:
        trace.operator(aten.copy_.default, (args[0], draw.values[0]), {})
        return args[0]
    values = [trace.operator(aten.clone.default, (value,), {}) for value in draw.values]
    return tuple(values) if len(func._schema.returns) > 1 else values[0]


__all__ = ["Draws", "drawn"]
