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
says nothing. So a block notes its draws by contexts, which torch's function enters around the first computation and
around each later one (its `context_fn`); a recomputation repeats them. The graph draws once, in eager's order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import torch
import torch.utils.checkpoint

from frontends.pytorch.errors import unsupported
from frontends.pytorch.symbolic.tensor import Trace, Traced, running_trace

aten: Final = torch.ops.aten
CHECKPOINT: Final = torch.utils.checkpoint.__name__
REENTRANT: Final = "CheckpointFunctionBackward"
AGAIN: Final = "draw the same numbers each time, or outside of the block"
CHECKPOINTED: Final = torch.utils.checkpoint._checkpoint_without_reentrant_generator
"""The function that torch's checkpoint calls for a block."""

_push: Final = torch._C._autograd._push_saved_tensors_default_hooks
_pop: Final = torch._C._autograd._pop_saved_tensors_default_hooks
_top: Final = torch._C._autograd._top_saved_tensors_default_hooks


@contextmanager
def saving_plainly() -> Iterator[None]:
    """Suspend this thread's saved-tensor hooks: those of a traced function's caller apply to the run."""
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
class Draw:
    """One operator that drew numbers, and its results."""

    call: tuple[object, ...]
    """The operator with a description of its arguments."""
    values: tuple[Traced, ...]


@dataclass(slots=True)
class Computation:
    """The context of one computation of a checkpointed block: the first one, or if `is_again`, each later one."""

    active: list[Computation]
    draws: list[Draw]
    is_again: bool
    left: Iterator[Draw] = field(default_factory=lambda: iter(()))
    """The draws that a later one has not repeated yet."""

    def __enter__(self) -> None:
        self.left = iter(self.draws)
        self.active.append(self)

    def __exit__(self, *error: object) -> None:
        self.active.remove(self)


class Draws:
    """The draws of a trace inside of checkpointed blocks, in their order."""

    def __init__(self) -> None:
        self._active: list[Computation] = []
        """The blocks that are being computed, the outermost first."""

    def block(self) -> tuple[Computation, Computation]:
        """The contexts of a new block: of its first computation, and of later ones."""
        draws: list[Draw] = []
        return Computation(self._active, draws, False), Computation(self._active, draws, True)

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
            Unsupported: a recomputation does not draw the same numbers, or another one of the program's own may begin.
        """
        hooks = _top(True)
        if hooks is not None and getattr(inspect.unwrap(hooks[0]), "__module__", None) != CHECKPOINT:
            unsupported("random numbers are drawn under hooks for saved tensors", "draw them before")
        if not self._active:
            node = torch._C._current_autograd_node()
            if node is not None and node.name() == REENTRANT:
                unsupported("random numbers are drawn in a checkpoint with use_reentrant=True", "use_reentrant=False")
            return run()
        first: list[list[Draw]] = []
        call = (func, described(args), described([*kwargs.items()]))
        for each in reversed(self._active):
            if each.is_again:
                draw = next(each.left, None)
                if draw is None or draw.call != call:
                    what = f"{func}: a recomputed block draws other random numbers than the first time"
                    unsupported(what, AGAIN)
                outcome = _again(trace, func, draw, args)
                break
            first.append(each.draws)
        else:
            outcome = run()
            tensors = outcome if isinstance(outcome, tuple | list) else [outcome]
            # drawn tensors may be mutated afterwards
            draw = Draw(call, tuple([trace.operator(aten.clone.default, (tensor,), {}) for tensor in tensors]))
        for draws in first:
            draws.append(draw)
        return outcome


def _again(trace: Trace, func: torch._ops.OpOverload, draw: Draw, args: Sequence[object]) -> object:
    if func._schema.is_mutable:
        trace.operator(aten.copy_.default, (args[0], draw.values[0]), {})
        return args[0]
    values = [trace.operator(aten.clone.default, (value,), {}) for value in draw.values]
    return tuple(values) if len(func._schema.returns) > 1 else values[0]


def checkpointed(fn: object, preserve: bool, contexts: object, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Replacement of torch's checkpoint function: the block of a trace notes its draws.

    Raises:
        Unsupported: the program has contexts of its own.
    """
    recorder: Any = running_trace()
    if recorder is not None and contexts is not torch.utils.checkpoint.noop_context_fn:
        unsupported("a checkpoint has a `context_fn` of the program", "leave out `context_fn`")
    if recorder is not None and preserve:
        contexts = recorder.draws.block
    return CHECKPOINTED(fn, preserve, contexts, *args, **kwargs)


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
