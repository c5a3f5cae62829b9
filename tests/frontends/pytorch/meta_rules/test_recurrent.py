"""Recurrent layers, all options, checked against eager torch: values, gradients, and the random numbers that are drawn.

Failures here raise no error otherwise: dropout between two layers that is left out, a gradient that misses a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile, trace

KINDS: dict[str, Callable[..., nn.Module]] = {
    "lstm": nn.LSTM,
    "projected": partial(nn.LSTM, proj_size=3),
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": partial(nn.RNN, nonlinearity="relu"),
}
MODES = {"lstm": "lstm", "projected": "lstm", "gru": "gru", "tanh": "rnn_tanh", "relu": "rnn_relu"}


@dataclass(frozen=True)
class Way:
    """The options of a layer and of its call."""

    options: dict[str, object] = field(default_factory=dict)
    training: bool = True
    gradients: bool = True
    states: bool = False
    batched: bool = True
    dtype: torch.dtype = torch.float32
    dynamic: bool | None = None


def flat(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def outcome(
    call: Callable[..., object], arguments: Sequence[torch.Tensor], parameters: Sequence[torch.Tensor], gradients: bool
) -> tuple[list[torch.Tensor], list[torch.Tensor | None], torch.Tensor]:
    """The results of a call, all gradients, and the state of the random numbers afterwards."""
    torch.manual_seed(3)
    with torch.set_grad_enabled(gradients):
        outputs = flat(call(*arguments))
    found: tuple[torch.Tensor | None, ...] = ()
    if gradients:
        learned = [each for each in outputs if each.requires_grad]
        weights = [torch.linspace(-1, 2, each.numel(), dtype=each.dtype).view(each.shape) for each in learned]
        leaves = [each for each in (*arguments, *parameters) if getattr(each, "requires_grad", False)]
        found = torch.autograd.grad(learned, leaves, weights, allow_unused=True)
    return outputs, list(found), torch.get_rng_state()


def assert_same(one: object, other: object, tolerance: float = 3e-5) -> None:
    (mine, my_gradients, my_state), (theirs, their_gradients, their_state) = one, other
    assert [(each.shape, each.stride(), each.requires_grad) for each in mine] == [
        (each.shape, each.stride(), each.requires_grad) for each in theirs
    ]
    if theirs[0].dtype is torch.float64:
        tolerance = 1e-10
    for ours, eagers in zip([*mine, *my_gradients], [*theirs, *their_gradients], strict=True):
        torch.testing.assert_close(ours, eagers, rtol=tolerance, atol=tolerance)
    assert torch.equal(my_state, their_state)


def agrees(kind: str, way: Way, backend: str, sizes: Sequence[tuple[int, int]] = ((3, 2), (7, 2), (5, 3))) -> None:
    """One compiled layer does what eager torch does at all sizes, each twice, without breaks."""
    torch.manual_seed(0)
    layer = KINDS[kind](4, 5, **way.options).to(way.dtype).train(way.training)
    compiled = compile(layer, backend=backend, dynamic=way.dynamic, fullgraph=True)
    names = ("hx", "cx") if MODES[kind] == "lstm" else ("hx",)
    is_first = bool(way.options.get("batch_first"))
    directions = layer.num_layers * (1 + layer.bidirectional)

    def made(rows: int, batch: int) -> list[torch.Tensor]:
        shapes = [[batch, rows, 4] if is_first else [rows, batch, 4]]
        if way.states:
            widths = [layer.proj_size or layer.hidden_size, layer.hidden_size]
            shapes += [[directions, batch, width] for width, _ in zip(widths, names)]
        if not way.batched:
            shapes = [[rows, 4], *[[shape[0], shape[2]] for shape in shapes[1:]]]
        return [torch.randn(shape, dtype=way.dtype, requires_grad=way.gradients) for shape in shapes]

    def called(network: Callable[..., object]) -> Callable[..., object]:
        if not way.states:
            return network
        return lambda x, *states: network(x, states if len(states) > 1 else states[0])

    parameters = list(layer.parameters())
    for rows, batch in sizes:
        arguments = made(rows, batch)
        expected = outcome(called(layer), arguments, parameters, way.gradients)
        for _ in range(2):
            assert_same(outcome(called(compiled), arguments, parameters, way.gradients), expected)
    lengths = {rows for rows, _ in sizes}
    assert len(compiled.graphs) == 1 if way.dynamic else len(compiled.graphs) < len(lengths) + 1
    # around a layer that learns there may be none, or two
    assert all(len(part.variants) == 1 for graph in compiled.graphs for part in graph.parts)


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_combination(kind: str, dynamic: bool | None, backend: str) -> None:
    """Fails when some combination differs from eager: of one kind every 30th, and fewer where kernels are compiled."""
    flags = list(itertools.product([False, True], repeat=3))
    combinations = list(itertools.product([1, 2, 3], [0.0, 0.3], [False, True], flags, flags))
    first, step = list(KINDS).index(kind), 31 if backend == "eager" else 127
    for layers, dropout, training, (bidirectional, bias, batch_first), rest in combinations[first::step]:
        options = {
            "num_layers": layers,
            "dropout": dropout if layers > 1 else 0.0,
            "bidirectional": bidirectional,
            "bias": bias,
            "batch_first": batch_first,
        }
        states, batched, gradients = rest
        way = Way(options, training, gradients, states, batched, torch.float32, dynamic)
        agrees(kind, way, backend, ((3, 2), (6, 3)))


# ---------------------------------------------------------------------- around a layer


def test_no_size_of_a_graph_is_a_constant() -> None:
    layer = nn.GRU(4, 5, 2, bidirectional=True)
    variant = trace(layer, (torch.randn(3, 2, 4),))
    assert [str(guard) for guard in variant.guards] == ["input.shape[2] == 4"]
    for rows, batch in ((1, 1), (9, 4)):
        x = torch.randn(rows, batch, 4)
        torch.testing.assert_close(variant.graph(x)[0], layer(x)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_wanted_has_a_gradient(kind: str) -> None:
    """Frozen parameters, and outputs that nobody uses."""
    torch.manual_seed(0)
    layer = KINDS[kind](4, 5)
    layer.weight_ih_l0.requires_grad_(False)
    learned = [each for each in layer.parameters() if each.requires_grad]
    compiled = compile(layer, fullgraph=True)
    x = torch.randn(3, 2, 4)
    for place in range(len(flat(layer(x)))):

        def part(call: Callable[..., object], place: int = place) -> torch.Tensor:
            return flat(call(x))[place]

        assert_same(outcome(part, [compiled], learned, True), outcome(part, [layer], learned, True))


LSTM, STACKED, GRU = nn.LSTM(4, 4), nn.GRU(4, 4, 2, dropout=0.4), nn.GRU(4, 4)


def one_after_the_other(x: torch.Tensor) -> object:
    return STACKED(torch.dropout(LSTM(x * 2)[0].relu() * 2, 0.3, True))[0] + LSTM(x)[0]


def not_followed(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = LSTM(x)[0] * 2
    return GRU(y.tanh())[0]


def checkpointed(x: torch.Tensor) -> torch.Tensor:
    return torch.utils.checkpoint.checkpoint(lambda y: STACKED(y.sin() * 2)[0] * 3, x, use_reentrant=False).relu()


def changed_behind(x: torch.Tensor) -> torch.Tensor:
    y = nn.functional.relu(GRU(x * 2)[0], inplace=True)
    z = GRU(x)[0]
    z[0] = 0.5
    return y * z


def changed_after_use(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 2
    z = GRU((y.sigmoid() + 1).tanh())[0]
    y.relu_()
    return z, y


def in_autocast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", enabled=False):
        return GRU(x)[0] @ x.transpose(1, 2)


AROUND = [one_after_the_other, not_followed, checkpointed, changed_behind, changed_after_use, in_autocast]


@pytest.mark.parametrize("backend", ["eager", pytest.param("cpu", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("program", AROUND)
def test_between_compiled_parts(program: Callable[..., object], backend: str) -> None:
    """A part saves for its backward what a later one changes, or a mode, a checkpoint or a second call goes wrong."""
    compiled = compile(program, backend=backend, fullgraph=True)
    parameters = [each for layer in (LSTM, STACKED, GRU) for each in layer.parameters()]
    for rows, batch in ((3, 2), (6, 2), (4, 3)):
        for gradients in (True, False):
            x = torch.randn(rows, batch, 4, requires_grad=gradients)
            mine, theirs = [
                outcome(lambda x, call=call: (call(x), call(x)), [x], parameters, gradients)
                for call in (compiled, program)
            ]
            assert_same(mine, theirs)
    assert not compiled.fallbacks and not any(graph.reason for graph in compiled.graphs)


def test_errors_are_eagers() -> None:
    layer = nn.GRU(4, 5)
    compiled = compile(layer)
    compiled(torch.randn(3, 2, 4))
    for x in (torch.randn(3, 2, 6), torch.randn(0, 2, 4), torch.randn(3, 2, 4, 1)):
        with pytest.raises(Exception) as expected:
            layer(x)
        with pytest.raises(type(expected.value)) as found:
            compiled(x)
        assert str(found.value) == str(expected.value)
