"""Floats that Python computes from sizes and from data, by kernels."""

from __future__ import annotations

import math

import pytest
import torch

from frontends.pytorch import compile

PROGRAMS = {
    "logarithm of a size": lambda x: x * math.log(x.shape[0] + 1),
    "sine of a size": lambda x: x * math.sin(x.shape[0] * 0.3),
    "function of data": lambda x: x * math.tanh(x.sum().item()) + math.floor(x.sum().item() * 10),
    "data is a size": lambda x: torch.zeros(int(x.abs().sum().item() * 2)) + 1,
    "data is a place": lambda x: x[: max(1, int(x.abs().sum().item() * 0.1) % 4)] * 2,
    "truth of data as a number": lambda x: x + float(x.abs().sum().item() > 1),
    "truth of data": lambda x: x + (x.abs().sum().item() > 30),
    "greatest": lambda x: x * max(x.mean().item(), 0.5) - min(x.sum().item(), x.mean().item()),
    "whole part": lambda x: x + int(x.sum().item()) % 3,
    "numbers": lambda x: (x.double().sum().item() * 2, int(x.sum().item())),
    "as many as data says": lambda x: torch.arange(0, x.abs().sum().item()).sum() * x,
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_floats(program, backend):
    """The bits of a float are taken for the float, or the other way round."""
    compiled = compile(program, backend=backend, dynamic=True)
    for rows in (4, 5, 9):
        x = torch.randn(rows, 6, generator=torch.Generator().manual_seed(rows))
        torch.testing.assert_close(compiled(x), program(x))
    # Dynamo makes a size a number for `math.log`
    assert len(compiled.variants) == 1 or program is PROGRAMS["logarithm of a size"]
