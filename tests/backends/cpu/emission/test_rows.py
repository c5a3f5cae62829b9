"""Rows of any length: where they begin in memory, in which direction they are stored, which part of a sum they are."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile

LENGTHS = (15, 100, 221, 2731, 4096, 8192, 8199, 70_001)
"""Within and beyond the first cache and one part of a sum, whole vectors and not."""


def normalized(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight)


def centred(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (x - (x * weight).mean(-1, keepdim=True)).exp() * weight


def extremes(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (x - x.amax(-1, keepdim=True)) * weight + x.sum(-1, keepdim=True)


@pytest.mark.parametrize("function", [normalized, centred, extremes], ids=lambda each: each.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_rows_of_any_length(function, dtype: torch.dtype) -> None:
    """Rows that are stored from their end miss or repeat a vector, or a sum of several parts one of these."""
    compiled = compile(function, backend="cpu", dynamic=True)
    for length in LENGTHS:
        x, weight = torch.randn(3, length, dtype=dtype), torch.randn(length, dtype=dtype)
        torch.testing.assert_close(compiled(x, weight), function(x, weight), rtol=1e-4, atol=1e-4)
    assert len(compiled.variants) == 1


def test_sums_of_several_parts_keep_their_digits() -> None:
    """The partial sums of a long sum are kept, and added up with all their digits."""
    compiled = compile(lambda x: x.sum(-1), backend="cpu", dynamic=True)
    for length in (4096, 4097, 8192, 300_000, 1 << 20):
        x = torch.rand(2, length)
        exact = x.double().sum(-1)
        assert ((compiled(x).double() - exact).abs() <= 1e-6 * exact).all(), length


def test_rows_of_a_piece_that_is_empty() -> None:
    """A row begins in a tensor without memory, and is read."""

    def program(x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.cat((x, y), -1) * 2 + bias

    compiled = compile(program, backend="cpu", dynamic=True)
    for left, right in ((3, 5), (0, 40), (40, 0), (17, 16)):
        x, y, bias = torch.randn(4, left), torch.randn(4, right), torch.randn(left + right)
        torch.testing.assert_close(compiled(x, y, bias), program(x, y, bias))
