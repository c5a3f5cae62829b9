"""Compiled functions inside of the operands of torch's higher-order operators: branches of `torch.cond`, bodies of
loops.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> doubled = compile(lambda x: x * 2)
    >>> torch.cond(torch.tensor(True), doubled, torch.neg, (torch.ones(2),))
    tensor([2., 2.])

Outside of a trace, such operators let Dynamo capture their operands, where a graph break is an error. So meanwhile a
compiled function behaves as the original one; other threads' calls run eagerly. In a program with graph breaks, such an
operator flushes the queue and runs eagerly:

    >>> from frontends.pytorch.breaks.breaks import Broken
    >>> broken = Broken(lambda x: torch.cond(x.sum() > 0, torch.relu, torch.neg, (x * 2,)))
    >>> broken(-torch.ones(2)), [each.cause for each in broken.breaks]
    (tensor([2., 2.]), ['cond'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final

from torch._higher_order_ops import utils as higher_order

from frontends.pytorch.breaks.pending import current_session
from frontends.pytorch.calls.compiled import Compiled
from frontends.pytorch.recording.cond import name_of

_captured: Final = higher_order._hop_compile_and_call
_compiled_call: Final = Compiled.__call__
_lock: Final = Lock()
_running: Final[list[object]] = []
"""The operators being captured."""


def _plain_call(self: Compiled, /, *args: object, **kwargs: object) -> object:
    return self._compilation.fn(*args, **kwargs)


@contextmanager
def as_originals() -> Iterator[None]:
    """Let compiled functions run eagerly for the duration of the block."""
    with _lock:
        _running.append(None)
        Compiled.__call__ = _plain_call  # type: ignore[method-assign]  # while it lasts
    try:
        yield
    finally:
        with _lock:
            _running.pop()
            if not _running:
                Compiled.__call__ = _compiled_call  # type: ignore[method-assign]  # while it lasts


def _with_originals(
    fn: Callable[..., object], args: Sequence[object], kwargs: dict[str, object] | None = None
) -> object:
    session = current_session()
    with as_originals():
        if session is None:
            return _captured(fn, args, kwargs)
        return session.outside(name_of(fn), lambda *args: _captured(fn, args, kwargs), args)


higher_order._hop_compile_and_call = _with_originals
