"""Recurrent layers over sequences of any length, and the gradient of one layer.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> layer = torch.nn.GRU(4, 5)
    >>> variant = trace(lambda x: layer(x)[0], (torch.randn(3, 2, 4),))
    >>> variant.graph(torch.randn(7, 1, 4))[0].shape
    torch.Size([7, 1, 5])
    >>> [str(guard) for guard in variant.guards]
    ['x_size2 == 4']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.meta_rules.normalization import one_dtype
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, packed
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor
MODES: Final = ("lstm", "gru", "rnn_tanh", "rnn_relu")

_library: Final = torch.library.Library("symshape", "DEF")
_library.define(
    "recurrent_layer_backward(Tensor?[] grads, Tensor input, Tensor? batch_sizes, Tensor[] hx, Tensor[] params,"
    " str mode, bool bidirectional, bool[] wanted) -> Tensor[]"
)


def layer_gradients(
    grads: Sequence[Tensor | None], input: Tensor, batch_sizes: Tensor | None, hx: Sequence[Tensor],
    params: Sequence[Tensor], mode: str, bidirectional: bool, wanted: Sequence[bool],
) -> list[Tensor]:  # fmt: skip
    """The wanted gradients of a layer's input, first states and parameters, by autograd: the forward runs again.

    Args:
        grads: the gradients of the output and of the last states, or None.
        input: (time, batch, feature); rows of features if `batch_sizes` has each step's number of rows.
        mode: "lstm", "gru", "rnn_tanh" or "rnn_relu".
    """
    leaves = [tensor.detach().requires_grad_(want) for tensor, want in zip((input, *hx, *params), wanted, strict=True)]
    states, weights = leaves[1 : 1 + len(hx)], leaves[1 + len(hx) :]
    has_biases = len(params) // (1 + bidirectional) >= 4
    given = (states if mode == "lstm" else states[0], weights, has_biases, 1, 0.0, True, bidirectional)
    with torch.enable_grad():
        packet = getattr(aten, mode)
        if batch_sizes is None:
            outputs = packet.input(leaves[0], *given, False)
        else:
            outputs = packet.data(leaves[0], batch_sizes, *given)
    followed = [output for output, grad in zip(outputs, grads) if grad is not None]
    learned = [leaf for leaf in leaves if leaf.requires_grad]
    given_to = [grad for grad in grads if grad is not None]
    gradients = torch.autograd.grad(followed, learned, given_to, materialize_grads=True)
    return [gradient.contiguous() for gradient in gradients]


_library.impl("recurrent_layer_backward", layer_gradients, "CompositeExplicitAutograd")
LAYER_BACKWARD: Final = torch.ops.symshape.recurrent_layer_backward.default


@kind_rule(LAYER_BACKWARD)
def layer_backward(
    recorder: Trace, grads: Sequence[Tensor | None], input: Tensor, batch_sizes: Tensor | None,
    hx: Sequence[Tensor], params: Sequence[Tensor], mode: str, bidirectional: bool, wanted: Sequence[bool],
) -> object:  # fmt: skip
    """The wanted gradients of the input, the states and the parameters, contiguous."""
    kinds = [metadata_of(recorder, tensor) for tensor in (input, *hx, *params)]
    return [
        packed(recorder, kind.shape, kind.dtype, kind.device)
        for kind, want in zip(kinds, wanted, strict=True)
        if want
    ]  # fmt: skip


@kind_rules(*[operator for mode in MODES for operator in (getattr(aten, mode).input, getattr(aten, mode).data)])
def layer(func: torch._ops.OpOverload, recorder: Trace, input: Tensor, *args: Any) -> object:
    """As many steps, or rows of packed sequences, as the input has."""
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
