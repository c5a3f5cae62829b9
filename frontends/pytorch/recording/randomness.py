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

Torch saves the generator's state before a block and restores it for recomputation. A trace draws nothing, so the state
says nothing. But a checkpoint has hooks for saved tensors, of which it has other ones while it recomputes: they name
the block. The draws of a block are consecutive; a recomputation repeats them from the first one. The graph draws once,
in eager's order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
import torch.utils.checkpoint

from frontends.pytorch.errors import unsupported
from frontends.pytorch.symbolic.tensor import Trace, Traced

aten: Final = torch.ops.aten
CHECKPOINT: Final = torch.utils.checkpoint.__name__
REENTRANT: Final = "CheckpointFunctionBackward"
AGAIN: Final = "draw the same numbers each time, or outside of the block"
HOOKS: Final[Mapping[str, tuple[Literal["first", "again"], str]]] = {
    torch.utils.checkpoint._checkpoint_hook.__qualname__: ("first", "frame"),
    torch.utils.checkpoint._recomputation_hook.__qualname__: ("again", "target_frame_ref"),
}
"""By the class of torch's hooks: whether they are of a block's first computation, and their name for the block."""

_push: Final = torch._C._autograd._push_saved_tensors_default_hooks
_pop: Final = torch._C._autograd._pop_saved_tensors_default_hooks
_top: Final = torch._C._autograd._top_saved_tensors_default_hooks


@contextmanager
def saving_plainly() -> Iterator[None]:
    """Without this thread's saved-tensor hooks: those of a traced function's caller apply to the run."""
    above = []
    while (hooks := _top(True)) is not None:
        above.append(hooks)
        _pop()
    try:
        yield
    finally:
        for hooks in reversed(above):
            _push(*hooks)


@dataclass(frozen=True, slots=True)
class Block:
    """One computation of a checkpointed block: the `hook` of this one, the block that it is of."""

    hook: Callable[..., object]
    frame: object
    is_again: bool


def blocks() -> list[Block]:
    """The checkpointed blocks that are being computed, the outermost first.

    Raises:
        Unsupported: there are hooks of the program's own.
    """
    if _top(True) is None:
        return []
    above: list[tuple[Any, Any]] = []
    while (hooks := _top(True)) is not None:
        above.append(hooks)
        _pop()
    for hooks in reversed(above):
        _push(*hooks)
    return [_block(pack) for pack, _ in reversed(above)]


def _block(pack: Callable[..., object]) -> Block:
    inner = inspect.unwrap(pack)
    found = HOOKS.get(getattr(inner, "__qualname__", "").partition(".")[0])
    if getattr(inner, "__module__", None) != CHECKPOINT or found is None:
        unsupported("random numbers are drawn where hooks for saved tensors are set", "draw them before")
    kind, name = found
    frame: Any = inspect.getclosurevars(inner).nonlocals[name]
    return Block(pack, frame() if kind == "again" else frame, kind == "again")


@dataclass(frozen=True, slots=True)
class Draw:
    """One operator that drew numbers, and its results."""

    call: tuple[object, ...]
    """The operator with a description of its arguments."""
    values: tuple[Traced, ...]


class Draws:
    """The draws of a trace inside of checkpointed blocks, in their order."""

    def __init__(self) -> None:
        self._made: list[Draw] = []
        self._starts: dict[int, tuple[object, int]] = {}
        """By identity of a block, the number of its first draw."""
        self._next: dict[int, tuple[object, int]] = {}
        """By identity of the hook of a recomputation, the number of its next draw."""

    def drawn(
        self,
        trace: Trace,
        func: torch._ops.OpOverload,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        run: Callable[[], object],
    ) -> object:
        """The numbers that an operator draws: new ones, or those of the block's first computation.

        Raises:
            Unsupported: a recomputation does not draw the same numbers.
        """
        around = blocks()
        if not around:
            node = torch._C._current_autograd_node()
            if node is not None and node.name() == REENTRANT:
                unsupported("random numbers are drawn in a checkpoint with use_reentrant=True", "use_reentrant=False")
            return run()
        place = len(self._made)
        again = next((block for block in reversed(around) if block.is_again), None)
        if again is not None:
            _, place = self._next.get(id(again.hook)) or self._starts.get(id(again.frame), (None, place))
            self._next[id(again.hook)] = again.hook, place + 1
        for block in around:
            if not block.is_again:
                self._starts.setdefault(id(block.frame), (block.frame, place))
        call = (func, described(args), described([*kwargs.items()]))
        if again is not None:
            return self._again(trace, place, call, args)
        outcome = run()
        tensors = outcome if isinstance(outcome, tuple | list) else [outcome]
        # drawn tensors may be mutated afterwards
        values = tuple([trace.operator(aten.clone.default, (tensor,), {}) for tensor in tensors])
        self._made.append(Draw(call, values))
        return outcome

    def _again(self, trace: Trace, place: int, call: tuple[object, ...], args: Sequence[object]) -> object:
        draw = self._made[place] if place < len(self._made) else None
        func = call[0]
        assert isinstance(func, torch._ops.OpOverload)
        if draw is None or draw.call != call:
            what = f"{func}: a block that is computed again draws other random numbers than the first time"
            unsupported(what, AGAIN)
        if func._schema.is_mutable:
            trace.operator(aten.copy_.default, (args[0], draw.values[0]), {})
            return args[0]
        values = [trace.operator(aten.clone.default, (value,), {}) for value in draw.values]
        return tuple(values) if len(func._schema.returns) > 1 else values[0]


def draws_from_default(kwargs: Mapping[str, object] | None) -> bool:
    """Return True if an operator with these arguments draws from torch's default generator."""
    generator: Any = kwargs.get("generator") if kwargs else None
    # operators receive another object for it
    return generator is None or generator._cdata == torch.default_generator._cdata


def described(value: object) -> object:
    """The description of an argument: a tensor's metadata, a number itself."""
    if isinstance(value, Traced):
        return value.metadata
    if isinstance(value, list | tuple):
        return tuple(map(described, value))
    return value.node if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) else value
