"""Backpropagation through time: the gradients of one recurrent layer for any number of steps.

    >>> import torch
    >>> from frontends.pytorch.meta_rules.through_time import layer_gradients
    >>> layer = torch.nn.GRU(3, 4)
    >>> x, h = torch.randn(5, 2, 3, requires_grad=True), torch.zeros(1, 2, 4)
    >>> y, _ = layer(x, h)
    >>> grads, wanted = [torch.ones_like(y), None], [True, False, False, False, False, False]
    >>> with torch.no_grad():
    ...     (found,) = layer_gradients(grads, x, None, [h], list(layer.parameters()), y, [], "gru", False, wanted)
    >>> y.sum().backward()
    >>> torch.allclose(found, x.grad, atol=1e-6)
    True

Eager torch runs a float32 LSTM by oneDNN, and so do we; oneDNN keeps a workspace for the gradient. The gradients of
other layers are eager's, which runs the layer once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor
"""The first row of a step, and its number of rows."""

aten: Final = torch.ops.aten
ONEDNN_LSTM: Final = 2
"""oneDNN's code for this kind of layer."""


def layer_gradients(
    grads: Sequence[Tensor | None],
    input: Tensor,
    batch_sizes: Tensor | None,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    output: Tensor,
    kept: Sequence[Tensor],
    mode: str,
    bidirectional: bool,
    wanted: Sequence[bool],
) -> list[Tensor]:
    """The wanted gradients of a layer's input, first states and parameters, in order.

    Args:
        grads: the gradients of the output and of the last states, or None.
        input: (time, batch, feature); rows of features if `batch_sizes` has each step's number of rows.
        output: the forward's output.
        kept: for an LSTM the last states, and oneDNN's workspace for each direction (`lstm_layer`).
        mode: "lstm", "gru", "rnn_tanh" or "rnn_relu".
    """
    last, workspaces = kept[:2], kept[2:]
    if not any(workspace.numel() for workspace in workspaces):
        return _by_autograd(grads, input, batch_sizes, hx, params, mode, bidirectional, wanted)
    count = 1 + bidirectional
    each = len(params) // count
    states = [torch.empty_like(state, memory_format=torch.contiguous_format) for state in hx]
    of_params: list[Tensor | None] = []
    of_input: Tensor | None = None
    for place in range(count):
        along = [None if grad is None else grad.chunk(count, -1)[place] for grad in grads[:1]]
        along += [None if grad is None else grad[place] for grad in grads[1:]]
        first, own = [state[place] for state in hx], params[place * each : (place + 1) * each]
        given = output.chunk(count, -1)[place]
        found = _by_onednn(along, input, first, own, given, last, workspaces[place], place)
        of_input = found[0] if of_input is None else of_input + found[0]
        for state, gradient in zip(states, found[1 : 1 + len(hx)]):
            state[place] = gradient
        of_params += found[1 + len(hx) :]
    gradients = [of_input, *states, *of_params]
    return [gradient.contiguous() for gradient, want in zip(gradients, wanted, strict=True) if want]


def _by_autograd(
    grads: Sequence[Tensor | None],
    input: Tensor,
    batch_sizes: Tensor | None,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    mode: str,
    bidirectional: bool,
    wanted: Sequence[bool],
) -> list[Tensor]:
    """The same by eager torch, which runs the layer once more."""
    needed = [tensor.detach().requires_grad_(want) for tensor, want in zip((input, *hx, *params), wanted, strict=True)]
    x, states, weights = needed[0], needed[1 : 1 + len(hx)], needed[1 + len(hx) :]
    has_biases = len(params) // (1 + bidirectional) > 3
    given = (states if mode == "lstm" else states[0], weights, has_biases, 1, 0.0, True, bidirectional)
    packet = getattr(aten, mode)
    with torch.enable_grad():
        outputs = packet.input(x, *given, False) if batch_sizes is None else packet.data(x, batch_sizes, *given)
    followed = [(output, grad) for output, grad in zip(outputs, grads) if grad is not None]
    leaves = [tensor for tensor in needed if tensor.requires_grad]
    outputs, tangents = [output for output, _ in followed], [grad for _, grad in followed]
    found = torch.autograd.grad(outputs, leaves, tangents, allow_unused=True)
    return [
        torch.zeros_like(leaf) if gradient is None else gradient.contiguous() for leaf, gradient in zip(leaves, found)
    ]


# ---------------------------------------------------------------------- oneDNN


def is_onednns(input: Tensor, hx: Sequence[Tensor]) -> bool:
    """Return True if eager torch runs an LSTM over padded batches by oneDNN."""
    return (
        input.dtype is torch.float32
        and input.device.type == "cpu"
        and input.numel() != 0
        and hx[0].shape == hx[1].shape
        and torch._C._get_mkldnn_enabled()
    )


def lstm_layer(
    input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], train: bool, bidirectional: bool
) -> list[Tensor]:
    """One layer of an LSTM as eager torch runs it in training: output, last states, and oneDNN's workspaces, which are
    empty if the sizes or settings of this call exclude oneDNN."""
    count = 1 + bidirectional
    each = len(params) // count
    if not is_onednns(input, hx):
        found = aten.lstm.input(input, hx, params, each == 4, 1, 0.0, train, bidirectional, False)
        return [*found, *[input.new_empty(0, dtype=torch.uint8) for _ in range(count)]]
    x, made = input.contiguous(), []
    for place in range(count):
        first, cell = [state[place].contiguous() for state in hx]
        weights, numbers = _of_onednn(params[place * each : (place + 1) * each], first)
        with torch.enable_grad():
            # without gradients there would be no workspace
            made.append(
                aten.mkldnn_rnn_layer(x, *weights, first, cell, place == 1, [], *numbers, False, False, train)
            )
    outputs, states, cells, workspaces = zip(*made)
    output = outputs[0] if count == 1 else torch.cat(outputs, -1)
    return [output, torch.stack(states), torch.stack(cells), *workspaces]


def _of_onednn(params: Sequence[Tensor], state: Tensor) -> tuple[list[Tensor], tuple[object, ...]]:
    """Weights and biases of one direction, and oneDNN's arguments after the states."""
    has_biases = len(params) == 4
    weights = list(params) if has_biases else [*params, *[weight.new_zeros(weight.shape) for weight in params]]
    return weights, (ONEDNN_LSTM, state.shape[-1], 1, has_biases)


def _by_onednn(
    grads: Sequence[Tensor | None],
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    output: Tensor,
    last: Sequence[Tensor],
    workspace: Tensor,
    place: int,
) -> list[Tensor]:
    """One direction of an LSTM."""
    first, cell = [state.contiguous() for state in hx]
    weights, numbers = _of_onednn(params, first)
    x, given = input.contiguous(), (output.contiguous(), last[0][place], last[1][place])
    found = aten.mkldnn_rnn_layer_backward(
        *(x, *weights, first, cell, *given, *grads, place == 1, *numbers, True, False, [], False, workspace)
    )
    of_x, of_inner, of_outer, of_bias, of_other, of_first, of_cell = found
    biases = [of_bias, of_other] if len(params) == 4 else []
    return [of_x, of_first.reshape(first.shape), of_cell.reshape(cell.shape), of_inner, of_outer, *biases]

