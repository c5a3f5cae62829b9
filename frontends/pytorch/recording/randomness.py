"""Random numbers under checkpointing: recomputation reuses the first draws.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.recording.randomness import checkpointed
    >>> def program(x):
    ...     x = x.detach().requires_grad_()
    ...     y = checkpointed(torch.dropout, x, 0.5, True, use_reentrant=False)
    ...     return y.detach(), torch.autograd.grad(y.sum(), x)[0]
    >>> y, gradient = trace(program, (torch.ones(8),)).graph(torch.ones(8))
    >>> bool((y == gradient).all())
    True

Torch saves the generator's state before a block and restores it for recomputation. A trace draws nothing, so the state
says nothing. So the checkpoints of a graph save what they draw (torch's selective checkpoints), and others that draw
are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import draws_numbers
from frontends.pytorch.symbolic.tensor import running_trace

DRAWN_BEFORE: Final = "draw them before"

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


def checkpointed(block: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Torch's checkpoint of a block; in a trace it saves the numbers that the block draws."""
    trace: Any = running_trace()
    if trace is None:
        return checkpoint(block, *args, **options)
    contexts = partial(create_selective_checkpoint_contexts, saved)
    before, trace.saves_draws = trace.saves_draws, True
    try:
        return checkpoint(block, *args, context_fn=contexts, **options)
    finally:
        trace.saves_draws = before


def saved(context: object, func: object, *args: object, **kwargs: object) -> CheckpointPolicy:
    """Save drawn numbers, and recompute everything else.

    Raises:
        Unsupported: they are written to a tensor.
    """
    if not isinstance(func, torch._ops.OpOverload) or not draws_numbers(func) or not draws_from_default(kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE
    if func._schema.is_mutable:
        unsupported("random numbers are drawn in place in a checkpoint", DRAWN_BEFORE)
    return CheckpointPolicy.MUST_SAVE


def check_drawing(kwargs: Mapping[str, object] | None, saves_draws: bool) -> None:
    """Refuse to draw numbers that a recomputation would draw anew.

    Raises:
        Unsupported: it may.
    """
    if not saves_draws and _top(True) is not None and draws_from_default(kwargs):
        unsupported("random numbers are drawn in a checkpoint, or under hooks for saved tensors", DRAWN_BEFORE)


def draws_from_default(kwargs: Mapping[str, object] | None) -> bool:
    """Return True if an operator with these arguments draws from torch's default generator."""
    generator: Any = kwargs.get("generator") if kwargs else None
    # operators receive another object for it
    return generator is None or generator._cdata == torch.default_generator._cdata
