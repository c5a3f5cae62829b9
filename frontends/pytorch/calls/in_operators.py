"""Compiled functions in the functions that torch's operators are given: branches of `torch.cond`, bodies of loops.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> doubled = compile(lambda x: x * 2)
    >>> torch.cond(torch.tensor(True), doubled, torch.neg, (torch.ones(2),))
    tensor([2., 2.])

Called by themselves, such operators have Dynamo capture what they are given, and a break is an error there. So for that
time a compiled function is the original one; what another thread calls meanwhile runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final

from torch._higher_order_ops import utils as higher_order

from frontends.pytorch.calls.compiled import Compiled

_captured: Final = higher_order._hop_compile_and_call
_compiled_call: Final = Compiled.__call__
_lock: Final = Lock()
_running: Final[list[object]] = []
"""The operators that are being captured."""


def _plain_call(self: Compiled, /, *args: object, **kwargs: object) -> object:
    return self._compilation.fn(*args, **kwargs)


@contextmanager
def as_originals() -> Iterator[None]:
    """Compiled functions run eagerly, as the originals."""
    with _lock:
        _running.append(None)
        Compiled.__call__ = _plain_call  # type: ignore[method-assign]
    try:
        yield
    finally:
        with _lock:
            _running.pop()
            if not _running:
                Compiled.__call__ = _compiled_call  # type: ignore[method-assign]


def _with_originals(
    fn: Callable[..., object], args: Sequence[object], kwargs: dict[str, object] | None = None
) -> object:
    with as_originals():
        return _captured(fn, args, kwargs)


higher_order._hop_compile_and_call = _with_originals
