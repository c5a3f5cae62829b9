"""`torch.cond` and other higher-order operators in programs with graph breaks: they flush the queue and run eagerly.

    >>> import torch
    >>> from frontends.pytorch.breaks.breaks import Broken
    >>> broken = Broken(lambda x: torch.cond(x.sum() > 0, torch.relu, torch.neg, (x * 2,)))
    >>> broken(-torch.ones(2)), [each.cause for each in broken.breaks]
    (tensor([2., 2.]), ['cond'])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from torch._higher_order_ops import utils as higher_order

from frontends.pytorch.breaks.pending import current_session
from frontends.pytorch.recording.cond import name_of

_otherwise: Final = higher_order._hop_compile_and_call


def _by_itself(fn: Callable[..., object], args: Sequence[object], kwargs: dict[str, object] | None = None) -> object:
    """The implementation while a session is active."""
    session = current_session()
    if session is None:
        return _otherwise(fn, args, kwargs)
    return session.outside(name_of(fn), lambda *args: _otherwise(fn, args, kwargs), args)


higher_order._hop_compile_and_call = _by_itself
