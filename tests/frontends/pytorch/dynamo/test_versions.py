"""Autograd's version counters of tensors that a program with graph breaks writes, or returns views of."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_backward_behind_it(backend: str) -> None:
    """A tensor saved for a backward does not count as changed where it is not."""
    weight = torch.nn.Parameter(torch.ones(4))

    def update(x):
        if x.numpy().sum() > 0:
            weight.data.add_(x.sum())
        return x * 2

    compiled = compile(update, dynamic=True, backend=backend)
    for size in (2, 4, 4, 3, 4):
        loss = (weight * weight).sum()
        compiled(torch.ones(size))
        loss.backward()
