"""Bounds of `as_strided`: its elements must be in the storage for all sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: x.as_strided((10,), (3,)) + 1, (torch.ones(30),))
    >>> [str(guard) for guard in variant.guards]
    ['x.shape[0] >= 28']

Only the elements of traced tensors are known to exist. Access to the rest of an argument's storage is left to eager
torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import roots_of
from frontends.pytorch.recording.special import special
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Traced
from shapes.environment.layout import is_empty, max_storage_index
from shapes.symbolic.choices import Int

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder
    from frontends.pytorch.symbolic.metadata import Metadata
    from shapes.env import ShapeEnv

aten: Final = torch.ops.aten

READS_OFFSET: Final = frozenset(
    [getattr(aten, name).default for name in ("as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter")]
)
"""Operators that depend on the storage offset."""


@special(aten.as_strided.default)
def as_strided(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """A view, with guards that all of its elements are in known memory."""
    source, env = args[0], recorder.env
    if recorder.backward or not isinstance(source, Traced):
        return recorder.operator(func, args, kwargs)
    base = roots_of(recorder.recording.operations).get(source.result, source.result).metadata
    assert base is not None
    made = recorder.operator(func, args, kwargs)
    view = made.metadata
    if _is_empty(env, view):
        return made
    if _is_empty(env, base) or not env.guard(_last(view) <= _last(base)):
        what = "`as_strided` reaches elements outside of the tensor that it is given"
        unsupported(what, "take it of the tensor that owns the memory, within its elements")
    return made


def _is_empty(env: ShapeEnv, metadata: Metadata) -> bool:
    """Return True if it is empty, with a guard."""
    empty = is_empty(metadata.shape)
    return empty if isinstance(empty, bool) else env.guard(empty)


def _last(metadata: Metadata) -> Int:
    """The storage index of the last element."""
    return max_storage_index(metadata.shape, metadata.shape.strides or (), value_of(metadata.offset))


