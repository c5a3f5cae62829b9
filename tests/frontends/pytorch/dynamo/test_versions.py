"""What autograd counts of tensors that a program with graph breaks writes, and of which it gives views."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_backward_behind_it(backend: str) -> None:
    """If it fails, what is saved for a backward counts as changed where it is not."""
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
