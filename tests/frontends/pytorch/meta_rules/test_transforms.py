"""Layouts of Fourier transforms are eager torch's: each function, any axes, resized or not, of any layout."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", ["hfftn", "irfftn", "fftn", "rfftn"])
def test_flattened(name: str, backend: str) -> None:
    """A view of a transform's result takes its elements in eager's order."""
    compiled = compile(lambda y: getattr(torch.fft, name)(y, dim=(0, -1)).flatten(), backend=backend, dynamic=True)
    for sizes in ((4, 6, 5), (3, 2, 7), (5, 5, 5)):
        numbers = torch.arange(1.0, 1 + torch.Size(sizes).numel()).view(sizes)
        y = numbers.sin() if name == "rfftn" else torch.complex(numbers.sin(), numbers.cos())
        torch.testing.assert_close(compiled(y), getattr(torch.fft, name)(y, dim=(0, -1)).flatten())
