"""Packed sequences: compiled programs are as eager torch, with its gradients and errors. Dynamo skips torch's functions
that pack, so compiled programs break there, or run as Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    unpack_sequence,
)

from frontends.pytorch import compile
from tests.frontends.pytorch.meta_rules.test_recurrent import assert_same, outcome

torch.manual_seed(0)
LSTM = nn.LSTM(4, 5, 2, bidirectional=True, dropout=0.3)
PROJECTED = nn.LSTM(4, 5, proj_size=2)
GRU = nn.GRU(4, 5)
RNN = nn.RNN(4, 5, batch_first=True)
PARAMETERS = [each for layer in (LSTM, PROJECTED, GRU, RNN) for each in layer.parameters()]
Program = Callable[[torch.Tensor, torch.Tensor], object]


def through(layer: nn.Module, *, batch_first: bool = False, **padding: object) -> Program:
    def run(x: torch.Tensor, lengths: torch.Tensor) -> object:
        x = x.transpose(0, 1) if batch_first else x
        packed = pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=False)
        y, last = layer(packed)
        return pad_packed_sequence(y, batch_first=batch_first, **padding), last

    return run


def in_order(x: torch.Tensor, lengths: torch.Tensor) -> object:
    y, last = GRU(pack_padded_sequence(x, lengths.sort(descending=True)[0]))
    return y.data, y.batch_sizes, last


def from_a_state(x: torch.Tensor, lengths: torch.Tensor) -> object:
    y, last = GRU(pack_padded_sequence(x, lengths, enforce_sorted=False), x.new_ones(1, x.shape[1], 5) * x[0, 0, 0])
    return pad_packed_sequence(y)[0], last


def of_sequences(x: torch.Tensor, lengths: torch.Tensor) -> object:
    return unpack_sequence(GRU(pack_sequence([x[:, 0], x[:2, 1], x[:1, 2]]))[0])


PROGRAMS: dict[str, Program] = {
    "stacked, in both directions": through(LSTM),
    "projected": through(PROJECTED),
    "gated": through(GRU),
    "batch first": through(RNN, batch_first=True, padding_value=-1.5),
    "in order": in_order,
    "from a state": from_a_state,
    "from sequences": of_sequences,
    "returned": lambda x, lengths: GRU(pack_padded_sequence(x, lengths, enforce_sorted=False)),
}


def lengths_of(rows: int) -> torch.Tensor:
    return torch.tensor([max(1, rows // 2), rows, 1])


def agrees(name: str, backend: str, gradients: bool = True) -> None:
    """Every call is as in eager torch; torch refuses the program as one graph."""
    program = PROGRAMS[name]
    compiled = compile(program, backend=backend)
    for rows in (3, 8, 17, 8):
        x = torch.randn(rows, 3, 4, requires_grad=gradients)
        expected = outcome(program, [x, lengths_of(rows)], PARAMETERS, gradients)
        assert_same(outcome(compiled, [x, lengths_of(rows)], PARAMETERS, gradients), expected)
    assert compiled.breaks or compiled.fallbacks


@pytest.mark.thorough
@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_of_packed_sequences(name: str, backend: str, gradients: bool) -> None:
    """A program of packed sequences, which is not one graph, does what it does in Python."""
    agrees(name, backend, gradients)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_packed_argument(backend: str) -> None:
    """The graphs around a break run at every size."""

    def program(packed: PackedSequence) -> object:
        y, last = GRU(packed)
        return pad_packed_sequence(y), last

    compiled = compile(program, backend=backend)

    def after_packing(call: Callable[..., object]) -> Program:
        return lambda x, lengths: call(pack_padded_sequence(x, lengths, enforce_sorted=False))

    for rows in (3, 8, 17):
        given = [torch.randn(rows, 3, 4, requires_grad=True), lengths_of(rows)]
        expected = outcome(after_packing(program), given, PARAMETERS, True)
        assert_same(outcome(after_packing(compiled), given, PARAMETERS, True), expected)


@pytest.mark.parametrize("lengths", [[3, 2, 0], [2, 3, 1], [3, 1]])
def test_errors_are_eagers(lengths: list[int]) -> None:
    def program(x: torch.Tensor, lengths: torch.Tensor) -> object:
        return pack_padded_sequence(x, lengths).data * 2

    compiled = compile(program)
    compiled(torch.randn(3, 3, 4), torch.tensor([3, 2, 1]))
    given = torch.randn(3, 3, 4), torch.tensor(lengths)
    with pytest.raises(RuntimeError) as expected:
        program(*given)
    with pytest.raises(RuntimeError) as found:
        compiled(*given)
    assert str(expected.value) in str(found.value)


def test_numbers_of_rows_that_are_changed() -> None:
    """The first of them is the size of a batch only until the program writes to it."""

    def program(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        packed.batch_sizes[0] = 7
        return x * int(packed.batch_sizes[0])

    compiled = compile(program)
    for rows in (3, 5):
        given = torch.randn(rows, 3, 4), lengths_of(rows)
        assert torch.equal(compiled(*given), program(*given))
