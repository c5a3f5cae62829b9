"""Packed sequences: compiled programs are as eager torch, with its gradients and errors. Dynamo skips torch's functions
that pack, so compiled programs break there, or run as Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from frontends.pytorch import compile
from tests.frontends.pytorch.meta_rules.test_recurrent import assert_same, outcome

torch.manual_seed(0)
GRU = nn.GRU(4, 5)
PARAMETERS = list(GRU.parameters())
Program = Callable[[torch.Tensor, torch.Tensor], object]


def lengths_of(rows: int) -> torch.Tensor:
    return torch.tensor([max(1, rows // 2), rows, 1])


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
