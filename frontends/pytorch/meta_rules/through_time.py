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

The backward needs only the forward's outputs. All states but the first are rows of the output, so one matrix product
over all steps recomputes the gates; only the propagation from a step to the one before it is a loop. A padded batch is
a packed one whose steps have equally many rows.

Eager torch runs a float32 LSTM by oneDNN, and so do we; oneDNN keeps a workspace for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor
Span = tuple[int, int]
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
    if input.dtype in (torch.float16, torch.bfloat16):
        # sums over all steps would lose precision
        wide = layer_gradients(
            _wide(grads), input.float(), batch_sizes, _wide(hx), _wide(params), output.float(), [], mode,
            bidirectional, wanted,
        )  # fmt: skip
        return [each.to(input.dtype) for each in wide]
    count = 1 + bidirectional
    each = len(params) // count
    last, workspaces = kept[:2], kept[2:]
    by_onednn = any(workspace.numel() for workspace in workspaces)
    spans = [] if by_onednn else _spans(input, batch_sizes)
    states = [torch.empty_like(state, memory_format=torch.contiguous_format) for state in hx]
    of_params: list[Tensor | None] = []
    of_input: Tensor | None = None
    for place in range(count):
        along = [None if grad is None else grad.chunk(count, -1)[place] for grad in grads[:1]]
        along += [None if grad is None else grad[place] for grad in grads[1:]]
        first, own = [state[place] for state in hx], params[place * each : (place + 1) * each]
        given = output.chunk(count, -1)[place]
        if by_onednn:
            found = _by_onednn(along, input, first, own, given, last, workspaces[place], place)
        else:
            found = _by_steps(along, input, first, own, given, mode, list(reversed(spans)) if place else spans)
        of_input = found[0] if of_input is None else of_input + found[0]
        for state, gradient in zip(states, found[1 : 1 + len(hx)]):
            state[place] = gradient
        of_params += found[1 + len(hx) :]
    gradients = [of_input, *states, *of_params]
    return [gradient.contiguous() for gradient, want in zip(gradients, wanted, strict=True) if want]


def _wide(tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    return [None if tensor is None else tensor.float() for tensor in tensors]


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


# ---------------------------------------------------------------------- step by step


def _spans(input: Tensor, batch_sizes: Tensor | None) -> list[Span]:
    """The steps in order of time."""
    counts = [input.shape[1]] * input.shape[0] if batch_sizes is None else batch_sizes.tolist()
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    return list(zip(starts, counts))


def _by_steps(
    grads: Sequence[Tensor | None],
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    output: Tensor,
    mode: str,
    spans: Sequence[Span],
) -> list[Tensor]:
    """One direction, its steps in forward order."""
    x, y = input.reshape(-1, input.shape[-1]), output.reshape(-1, output.shape[-1])
    along, *last = grads
    along = torch.zeros_like(y) if along is None else along.reshape(y.shape)
    last = [torch.zeros_like(state) if grad is None else grad.clone() for state, grad in zip(hx, last, strict=True)]
    inner, outer, *rest = params
    biases = rest[:2] if len(rest) > 1 else ()
    projection = rest[-1] if len(rest) % 2 else None
    before = _before(hx[0], y, spans)
    gates = [_linear(x, inner, biases[:1]), _linear(before, outer, biases[1:])]
    pull = PULLS[mode]
    of_inner, of_outer, extra = pull(gates, before, y, along, last, hx, outer, projection, spans)
    of_biases = [of_inner.sum(0), of_outer.sum(0)] if biases else []
    of_x = (of_inner @ inner).reshape(input.shape)
    return [of_x, *last, of_inner.t() @ x, of_outer.t() @ before, *of_biases, *extra]


def _linear(x: Tensor, weight: Tensor, bias: Sequence[Tensor]) -> Tensor:
    return torch.addmm(bias[0], x, weight.t()) if bias else x @ weight.t()


def _before(first: Tensor, states: Tensor, spans: Iterable[Span]) -> Tensor:
    """The previous state of each row: that of the same sequence one step earlier, or the first one."""
    found = torch.empty_like(states)
    earlier, there = 0, 0
    for start, count in spans:
        common = min(count, there)
        found[start : start + common] = states[earlier : earlier + common]
        found[start + common : start + count] = first[common:count]
        earlier, there = start, count
    return found


def _pull_lstm(
    gates: Sequence[Tensor], before: Tensor, states: Tensor, along: Tensor, last: Sequence[Tensor],
    hx: Sequence[Tensor], outer: Tensor, projection: Tensor | None, spans: Sequence[Span],
) -> tuple[Tensor, Tensor, list[Tensor]]:  # fmt: skip
    """The gradients of the gates; those of the last states are overwritten by those of the first."""
    of_state, of_cell = last
    i, f, g, o = (gates[0] + gates[1]).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cell, written = hx[1].clone(), i * g
    cells, earlier = torch.empty_like(i), torch.empty_like(i)
    for start, count in spans:
        rows = slice(start, start + count)
        earlier[rows] = cell[:count]
        cells[rows] = cell[:count] = torch.addcmul(written[rows], f[rows], cell[:count])
    shown = cells.tanh()
    slopes = torch.cat([i * (1 - i) * g, f * (1 - f) * earlier, (1 - g * g) * i, o * (1 - o) * shown], 1)
    of_shown = o * (1 - shown * shown)
    pulled = torch.empty_like(slopes)
    of_output = torch.empty_like(along)
    for start, count in reversed(spans):
        rows = slice(start, start + count)
        of_output[rows] = along[rows] + of_state[:count]
        of_hidden = of_output[rows] if projection is None else of_output[rows] @ projection
        kept = torch.addcmul(of_cell[:count], of_hidden, of_shown[rows])
        pulled[rows] = torch.cat([kept, kept, kept, of_hidden], 1) * slopes[rows]
        of_state[:count] = pulled[rows] @ outer
        of_cell[:count] = kept * f[rows]
    extra = [] if projection is None else [of_output.t() @ (o * shown)]
    return pulled, pulled, extra


def _pull_gru(
    gates: Sequence[Tensor], before: Tensor, states: Tensor, along: Tensor, last: Sequence[Tensor],
    hx: Sequence[Tensor], outer: Tensor, projection: Tensor | None, spans: Sequence[Span],
) -> tuple[Tensor, Tensor, list[Tensor]]:  # fmt: skip
    """The gradients of the gates; because of the reset gate, those for the input and the state differ."""
    (of_state,) = last
    (r_in, z_in, n_in), (r_h, z_h, n_h) = [each.chunk(3, 1) for each in gates]
    r, z = (r_in + r_h).sigmoid(), (z_in + z_h).sigmoid()
    n = torch.addcmul(n_in, r, n_h).tanh()
    of_n = (1 - z) * (1 - n * n)
    slopes = torch.cat([of_n * n_h * r * (1 - r), (before - n) * z * (1 - z), of_n * r], 1)
    of_outer = torch.empty_like(slopes)
    of_output = torch.empty_like(along)
    for start, count in reversed(spans):
        rows = slice(start, start + count)
        pulled = of_output[rows] = along[rows] + of_state[:count]
        of_outer[rows] = pulled.repeat(1, 3) * slopes[rows]
        of_state[:count] = torch.addmm(pulled * z[rows], of_outer[rows], outer)
    of_inner = torch.cat([of_outer[:, : 2 * z.shape[1]], of_output * of_n], 1)
    return of_inner, of_outer, []


def _pull_plain(slope: Callable[[Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor, list[Tensor]]]:
    """A layer without gates, by the derivative of its nonlinearity in terms of its output."""

    def pull(
        gates: Sequence[Tensor], before: Tensor, states: Tensor, along: Tensor, last: Sequence[Tensor],
        hx: Sequence[Tensor], outer: Tensor, projection: Tensor | None, spans: Sequence[Span],
    ) -> tuple[Tensor, Tensor, list[Tensor]]:  # fmt: skip
        (of_state,) = last
        slopes, pulled = slope(states), torch.empty_like(states)
        for start, count in reversed(spans):
            rows = slice(start, start + count)
            pulled[rows] = (along[rows] + of_state[:count]) * slopes[rows]
            of_state[:count] = pulled[rows] @ outer
        return pulled, pulled, []

    return pull


PULLS: Final = {
    "lstm": _pull_lstm,
    "gru": _pull_gru,
    "rnn_tanh": _pull_plain(lambda state: 1 - state * state),
    "rnn_relu": _pull_plain(lambda state: (state > 0).to(state.dtype)),
}
