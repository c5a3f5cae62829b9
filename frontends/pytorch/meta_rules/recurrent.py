"""Recurrent layers over sequences of any length.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> layer = torch.nn.GRU(4, 5)
    >>> variant = trace(lambda x: layer(x)[0], (torch.randn(3, 2, 4),))
    >>> variant.graph(torch.randn(7, 1, 4))[0].shape
    torch.Size([7, 1, 5])
    >>> [str(guard) for guard in variant.guards]
    ['x.shape[2] == 4']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.meta_rules.registry import kind_rules, metadata_of, one_dtype, packed
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor
MODES: Final = ("lstm", "gru", "rnn_tanh", "rnn_relu")


@kind_rules(*[operator for mode in MODES for operator in (getattr(aten, mode).input, getattr(aten, mode).data)])
def layer(func: torch._ops.OpOverload, recorder: Trace, input: Tensor, *args: Any) -> object:
    """The metadata of a layer's results: as many steps, or rows of packed sequences, as the input has."""
    is_padded = func._overloadname == "input"
    hx, bidirectional, batch_first = (args[0], args[-2], args[-1]) if is_padded else (args[1], args[-1], False)
    x, states = metadata_of(recorder, input), _states(recorder, hx)
    if batch_first or len(x.sizes) != 2 + is_padded or not one_dtype(x, *states):
        return NotImplemented
    width = states[0].shape[2] * (1 + bidirectional)
    return packed(recorder, Shape((*x.shape[:-1], width)), x.dtype, x.device), *_last(recorder, states)


def _states(recorder: Trace, hx: Sequence[Tensor] | Tensor) -> list[Metadata]:
    return [metadata_of(recorder, state) for state in (hx if isinstance(hx, list | tuple) else [hx])]


def _last(recorder: Trace, states: Sequence[Metadata]) -> list[Metadata]:
    """The last states, with the sizes of the first."""
    return [packed(recorder, state.shape, state.dtype, state.device) for state in states]
