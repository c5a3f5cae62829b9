"""Random numbers under checkpointing: recomputation reuses the first draws.

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

Torch saves the generator's state before a block and restores it for recomputation. A trace draws nothing: a state is a
position in the sequence of draws, and after a restore the same results are returned. The graph draws once, in eager's
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.python.generators import SEED, is_default
from frontends.pytorch.source_location import origin
from frontends.pytorch.symbolic.tensor import Trace, Traced

aten: Final = torch.ops.aten
AGAIN: Final = "draw the same numbers each time, or outside of the block; fullgraph=False runs it on every call"


@dataclass(frozen=True, slots=True)
class Draw:
    """One operator that drew numbers, and its results."""

    call: tuple[object, ...]
    """The operator with a description of its arguments."""
    values: tuple[Traced, ...]


class Draws:
    """The draws since a state was saved, and the current position."""

    def __init__(self) -> None:
        self.made: list[Draw] = []
        self.place = 0
        self._states: dict[int, tuple[torch.Tensor, int]] = {}

    def save(self, state: torch.Tensor) -> None:
        """The generator's state was saved."""
        self._states[id(state)] = (state, self.place)

    def restore(self, state: torch.Tensor) -> None:
        """The generator's state was restored.

        Raises:
            GraphBreak: the state is from before the trace.
        """
        if id(state) not in self._states:
            what = "the state of the random numbers is set to one from outside"
            raise GraphBreak(refusal(what, SEED, origin()))
        self.place = self._states[id(state)][1]

    def check(self) -> None:
        """Check that the generator is after all draws, as the graph leaves it.

        Raises:
            GraphBreak: it is not.
        """
        if self.place < len(self.made):
            what = "the function leaves torch's generator where it was before numbers were drawn"
            raise GraphBreak(refusal(what, SEED, None))


def draws_from_default(kwargs: Mapping[str, object] | None) -> bool:
    """Whether an operator with these arguments draws from torch's default generator."""
    generator = kwargs.get("generator") if kwargs else None
    return generator is None or is_default(generator)


def drawn(
    trace: Trace,
    draws: Draws,
    func: torch._ops.OpOverload,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    run: Callable[[], object],
) -> object:
    """The numbers that an operator draws: new ones, or those of the earlier draw at this position."""
    call = (func, described(args), described([*kwargs.items()]))
    if draws.place < len(draws.made):
        return _again(trace, draws, call, args)
    outcome = run()
    tensors = outcome if isinstance(outcome, tuple | list) else [outcome]
    # drawn tensors may be mutated afterwards
    values = tuple([trace.operator(aten.clone.default, (tensor,), {}) for tensor in tensors])
    draws.made.append(Draw(call, values))
    draws.place += 1
    return outcome


def described(value: object) -> object:
    """The description of an argument: a tensor's metadata, a number itself."""
    if isinstance(value, Traced):
        return value.metadata
    if isinstance(value, list | tuple):
        return tuple(map(described, value))
    return value.node if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) else value


def _again(trace: Trace, draws: Draws, call: tuple[object, ...], args: Sequence[object]) -> object:
    draw = draws.made[draws.place]
    draws.place += 1
    func = call[0]
    assert isinstance(func, torch._ops.OpOverload)
    if draw.call != call:
        what = f"{func}: a block that is computed again draws other random numbers than the first time"
        raise GraphBreak(refusal(what, AGAIN, origin()))
    if func._schema.is_mutable:
        trace.operator(aten.copy_.default, (args[0], draw.values[0]), {})
        return args[0]
    values = [trace.operator(aten.clone.default, (value,), {}) for value in draw.values]
    return tuple(values) if len(func._schema.returns) > 1 else values[0]
