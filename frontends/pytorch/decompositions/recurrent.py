"""Recurrent networks, layer by layer: each layer is one operator over a sequence of any length.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> network = torch.nn.LSTM(4, 5, num_layers=2, dropout=0.5)
    >>> variant = trace(network, (torch.randn(3, 2, 4),))
    >>> [str(node.target) for node in variant.graph.graph.nodes if "lstm" in node.name or "dropout" in node.name]
    ['aten.lstm.input', 'aten.native_dropout.default', 'aten.lstm.input']

Dropout between layers is eager torch's operator, so the random numbers are the same; as in eager, none are drawn with
probability 0 or 1:

    >>> trace(lambda x: torch.dropout(x, 0.0, True), (torch.ones(3),)).recording.operations
    []
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite
from frontends.pytorch.errors import unsupported
from frontends.pytorch.meta_rules.registry import given, kind_rules, one_dtype, packed
from frontends.pytorch.symbolic.tensor import Trace, current_trace
from shapes.rules import Shape

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor

MODES: Final = ("lstm", "gru", "rnn_tanh", "rnn_relu")
AS_EAGER: Final = "leave it out of the compiled function"


def layered(mode: str) -> None:
    """Register a kind of network."""
    packet = getattr(aten, mode)
    # if a layer cannot be one operator, torch's Python function unrolls its steps
    steps = {operator: operator.py_kernels[DispatchKey.Autograd] for operator in (packet.input, packet.data)}

    @composite(packet.input)
    def padded(input: Tensor, *given: Any) -> tuple[Tensor, ...]:
        """Run a network over batches of sequences of one length."""
        *options, batch_first = given
        found: Any = network(input.transpose(0, 1) if batch_first else input, None, *options)
        y, *last = found
        return y.transpose(0, 1) if batch_first else y, *last

    @composite(packet.data)
    def network(
        x: Tensor, batch_sizes: Tensor | None, hx: Sequence[Tensor] | Tensor, params: Sequence[Tensor],
        has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Run one layer after the other, with dropout in between; with `batch_sizes`, over packed sequences."""
        if torch.is_autocast_enabled(x.device.type):
            unsupported(f"{mode} under autocast, which changes dtypes within its steps", AS_EAGER)
        drops = dropout != 0 and train
        if drops and x.device.type != "cpu" and num_layers > 1:
            unsupported(f"{mode} with dropout between layers on {x.device.type}, whose library draws it", AS_EAGER)
        states: list[Any] = list(hx) if isinstance(hx, list | tuple) else [hx]
        directions = 1 + bidirectional
        each = len(params) // num_layers
        last: list[Sequence[Tensor]] = []
        for layer in range(num_layers):
            first = states
            if num_layers > 1:
                first = [state.narrow(0, layer * directions, directions) for state in states]
            of_layer = list(params[layer * each : (layer + 1) * each])
            x, *found = one_layer(x, batch_sizes, first, of_layer, has_biases, train, bidirectional)
            last.append(found)
            if drops and layer < num_layers - 1:
                # nothing is drawn if all elements are dropped
                x = x * x.new_zeros(()) if dropout == 1 else torch.dropout(x, dropout, True)
        return x, *[found[0] if num_layers == 1 else torch.cat(found) for found in zip(*last)]

    def one_layer(
        x: Tensor, batch_sizes: Tensor | None, states: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool,
        train: bool, bidirectional: bool,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        operator = packet.input if batch_sizes is None else packet.data
        first = (x,) if batch_sizes is None else (x, batch_sizes)
        rest = (has_biases, 1, 0.0, train, bidirectional, *[False] * (batch_sizes is None))
        args = (*first, states if mode == "lstm" else states[0], params, *rest)
        tensors = (x, *states, *params)
        learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        is_followed = (learns and current_trace().gradients) or torch._C._are_functorch_transforms_active()
        if is_followed or x.device.type != "cpu" or not x.dtype.is_floating_point:
            with torch.backends.mkldnn.flags(enabled=False):
                return steps[operator](*args)
        return Layer.apply(operator, args, *tensors)


class Layer(torch.autograd.Function):
    """One layer as one operator, in a trace that does not differentiate its outputs."""

    @staticmethod
    def forward(
        ctx: Any, operator: torch._ops.OpOverload, args: tuple[object, ...], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        """Run the layer; autograd notes `tensors` as its inputs, which are in `args` too."""
        return tuple(current_trace().operator(operator, args, {}))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> NoReturn:
        unsupported("a recurrent layer is differentiated in a trace without gradients", "gradients=True")


for _mode in MODES:
    layered(_mode)


@kind_rules(*[operator for mode in MODES for operator in (getattr(aten, mode).input, getattr(aten, mode).data)])
def layer(func: torch._ops.OpOverload, recorder: Trace, input: Tensor, *args: Any) -> object:
    """The metadata of a layer's results: as many steps, or rows of packed sequences, as the input has; and the last
    states, with the sizes of the first."""
    is_padded = func._overloadname == "input"
    hx, bidirectional, batch_first = (args[0], args[-2], args[-1]) if is_padded else (args[1], args[-1], False)
    x, *states = given(recorder, input, *(hx if isinstance(hx, list | tuple) else [hx]))
    if batch_first or len(x.sizes) != 2 + is_padded or not one_dtype(x, *states):
        return NotImplemented
    width = states[0].shape[2] * (1 + bidirectional)
    sizes = [Shape((*x.shape[:-1], width)), *[state.shape for state in states]]
    return tuple([packed(recorder, each, x.dtype, x.device) for each in sizes])


@composite(aten.dropout.default)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout as eager torch decomposes it."""
    if p == 0 or not train or any(type(size) is int and size == 0 for size in input.shape):
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype, device=input.device)
    return aten.native_dropout.default(input, p, train)[0]
